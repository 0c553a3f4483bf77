"""A model's tool call into a search of the book, and the passages found into what the model reads."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bookwise.domain.answers import QUESTION_MAX, Passage
from bookwise.domain.errors import InvalidInput

TOOL_NAME = "retrieve_documentation"
TOOL_ALIAS = "search_textbook"
TOP_K_MAX = 20
ARGUMENTS_MAX = 16_384  #: characters of a call's arguments; no honest call comes near
SHOWN_MAX = 40  #: characters of what a model sent that a message repeats

RETRIEVAL_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": (
            "Search the book documentation for relevant information based on a question or topic. "
            "Returns chunks of text from the book with metadata about their source."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "The question or topic to search for in the documentation",
                },
                "top_k": {
                    "type": "integer",
                    "description": "Number of most relevant chunks to retrieve (default: 5)",
                    "default": 5,
                },
                "similarity_threshold": {
                    "type": "number",
                    "description": "Minimum similarity score for results (0.0-1.0, default: 0.0)",
                    "default": 0.0,
                },
            },
            "required": ["query"],
        },
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArguments:
    """What a model may ask the tool for; one that exists is valid."""

    query: str
    top_k: int = 5
    similarity_threshold: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise InvalidInput("query must be a text that is not empty.")
        if len(self.query) > QUESTION_MAX:
            raise InvalidInput(f"query has {len(self.query):,} characters; at most {QUESTION_MAX:,} are read.")
        if type(self.top_k) is not int or not 1 <= self.top_k <= TOP_K_MAX:
            raise InvalidInput(f"top_k is {shown(self.top_k)}; it must be a whole number from 1 to {TOP_K_MAX}.")
        if type(self.similarity_threshold) not in (int, float) or not 0.0 <= self.similarity_threshold <= 1.0:
            raise InvalidInput(
                f"similarity_threshold is {shown(self.similarity_threshold)}; it must be a number from 0 to 1."
            )


def tool_arguments(raw: str) -> ToolArguments:
    """The arguments a model sent as JSON; `InvalidInput` says what is wrong with them. A null is a default."""
    if len(raw) > ARGUMENTS_MAX:
        raise InvalidInput(f"The arguments have {len(raw):,} characters; at most {ARGUMENTS_MAX:,} are read.")
    try:
        sent = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidInput(f"The arguments are not valid JSON: {shown(raw)}.") from None
    if not isinstance(sent, dict):
        raise InvalidInput(f"The arguments must be a JSON object, not {shown(sent)}.")
    known = {"query", "top_k", "similarity_threshold"}
    if unknown := sorted(sent.keys() - known):
        raise InvalidInput(f"Unknown arguments: {shown(', '.join(unknown))}. Known are: {', '.join(sorted(known))}.")
    if "query" not in sent:
        raise InvalidInput("The argument query is missing.")
    return ToolArguments(**{name: value for name, value in sent.items() if value is not None or name == "query"})


def tool_response(passages: Sequence[Passage], query: str) -> str:
    """The passages as the model reads them; it cites each by its `number`."""
    results = [_result(passage, rank) for rank, passage in enumerate(passages, start=1)]
    return _json({"results": results, "total_results": len(results), "query": query})


def tool_error(message: str, query: str) -> str:
    """Why the search brought nothing, for the model to do better."""
    return _json({"error": message, "query": query})


def fewer_results(response: str) -> str:
    """A tool response with the better half of its results; anything else unchanged."""
    try:
        found = json.loads(response)
    except ValueError:
        return response
    if not isinstance(found, dict) or not isinstance(results := found.get("results"), list):
        return response
    kept = results[: max(1, len(results) // 2)]
    return _json({**found, "results": kept, "total_results": len(kept)})


def shown(value: object) -> str:
    """What a model sent, short enough to be repeated."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, str):
        return repr(value[:SHOWN_MAX]) + ("…" if len(value) > SHOWN_MAX else "")
    return repr(value)[:SHOWN_MAX]


def _result(passage: Passage, rank: int) -> dict[str, object]:
    locator = passage.chunk.locator
    return {
        "chunk_text": passage.chunk.text,
        "page_title": locator.page_title,
        "section_heading": locator.section_title,
        "source_url": locator.url or locator.source_file,
        "similarity_score": passage.score,
        "rank": rank,
        "number": passage.number,
    }


def _json(value: dict[str, object]) -> str:
    # Escapes would cost a model several tokens for each letter that is not English.
    return json.dumps(value, indent=2, ensure_ascii=False)
