"""Bookwise answers questions from a book, only from the book, and shows where the book says so."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookwise.answering.retrieval_tool import RETRIEVAL_TOOL
    from bookwise.library import ask, ask_async, execute_retrieval_tool, retrieve_documentation
    from bookwise.schemas.agent import AgentConfig, AgentConfiguration, ConversationState, ToolCall, ToolResponse
    from bookwise.schemas.ask import AgentResponse, CitedSource, Query, build_prompt
    from bookwise.schemas.ask import CitedSource as Citation
    from bookwise.schemas.library import Conversation, Message, RetrievalContext, RetrievalResult, ValidationResult
    from bookwise.settings import Settings

__all__ = [
    "RETRIEVAL_TOOL",
    "AgentConfig",
    "AgentConfiguration",
    "AgentResponse",
    "Citation",
    "CitedSource",
    "Conversation",
    "ConversationState",
    "Message",
    "Query",
    "RetrievalContext",
    "RetrievalResult",
    "Settings",
    "ToolCall",
    "ToolResponse",
    "ValidationResult",
    "ask",
    "ask_async",
    "build_prompt",
    "execute_retrieval_tool",
    "retrieve_documentation",
]
__version__ = "0.2.0"

_MODULES = {
    "bookwise.answering.retrieval_tool": ("RETRIEVAL_TOOL",),
    "bookwise.library": ("ask", "ask_async", "execute_retrieval_tool", "retrieve_documentation"),
    "bookwise.schemas.agent": ("AgentConfig", "AgentConfiguration", "ConversationState", "ToolCall", "ToolResponse"),
    "bookwise.schemas.ask": ("AgentResponse", "CitedSource", "Query", "build_prompt"),
    "bookwise.schemas.library": ("Conversation", "Message", "RetrievalContext", "RetrievalResult", "ValidationResult"),
    "bookwise.settings": ("Settings",),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
_ALIASES = {"Citation": "CitedSource"}  # the domain has another class named `Citation`


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used, so that `import bookwise` itself loads nothing."""
    target = _ALIASES.get(name, name)
    if target in _HOMES:
        return getattr(import_module(_HOMES[target]), target)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
