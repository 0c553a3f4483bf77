"""Bookwise: answers only from the book, and shows where."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bookwise.library import ask, ask_async

__all__ = ["ask", "ask_async"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Loads what answers a question only when somebody asks: `import bookwise` costs nothing."""
    if name in __all__:
        from bookwise import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
