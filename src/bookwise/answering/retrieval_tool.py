"""The tool `retrieve_documentation`: a model's tool call → a search of the book → the JSON the model reads."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bookwise.domain.answers import QUESTION_MAX, Passage
from bookwise.domain.errors import InvalidInput
from bookwise.ports import Retrieve

TOOL_NAME = "retrieve_documentation"
TOOL_ALIAS = "search_textbook"
TOP_K = 5
TOP_K_MAX = 20
ARGUMENTS_MAX = 16_384  #: characters of a call's arguments; longer ones are not parsed
SHOWN_MAX = 40  #: characters of a model's value that an error message repeats
ECHO_MAX = 200  #: characters of the query that an error response repeats


def retrieval_tool(top_k: int = TOP_K) -> dict[str, Any]:
    """The tool's schema for OpenAI function calling, with this default for `top_k`."""
    return {
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
                        "description": f"Number of most relevant chunks to retrieve (default: {top_k})",
                        "default": top_k,
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


RETRIEVAL_TOOL = retrieval_tool()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolArguments:
    """The arguments of one tool call, validated."""

    query: str
    top_k: int = TOP_K
    similarity_threshold: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.query, str) or not self.query.strip():
            raise InvalidInput("query must be a non-empty string.")
        if len(self.query) > QUESTION_MAX:
            raise InvalidInput(f"query has {len(self.query):,} characters; the limit is {QUESTION_MAX:,}.")
        if type(self.top_k) is not int or not 1 <= self.top_k <= TOP_K_MAX:
            raise InvalidInput(f"top_k is {preview(self.top_k)}; it must be an integer from 1 to {TOP_K_MAX}.")
        if type(self.similarity_threshold) not in (int, float) or not 0.0 <= self.similarity_threshold <= 1.0:
            raise InvalidInput(
                f"similarity_threshold is {preview(self.similarity_threshold)}; it must be a number from 0 to 1."
            )


def tool_arguments(raw: str, *, top_k: int = TOP_K) -> ToolArguments:
    """The arguments a model sent as JSON; `InvalidInput` names the problem. A null means the default."""
    if len(raw) > ARGUMENTS_MAX:
        raise InvalidInput(f"The arguments have {len(raw):,} characters; the limit is {ARGUMENTS_MAX:,}.")
    try:
        arguments = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidInput(f"The arguments are not valid JSON: {preview(raw)}.") from None
    if not isinstance(arguments, dict):
        raise InvalidInput(f"The arguments must be a JSON object, not {preview(arguments)}.")
    names = {"query", "top_k", "similarity_threshold"}
    if unknown := sorted(arguments.keys() - names):
        raise InvalidInput(f"Unknown arguments: {preview(', '.join(unknown))}. Use: {', '.join(sorted(names))}.")
    if "query" not in arguments:
        raise InvalidInput("The argument query is missing.")
    values = {name: value for name, value in arguments.items() if value is not None or name == "query"}
    return ToolArguments(**{"top_k": top_k} | values)


def requested_query(raw: str) -> str:
    """The query in a call's arguments, however wrong the rest is; empty when there is none."""
    try:
        arguments = json.loads(raw) if len(raw) <= ARGUMENTS_MAX else None
    except (ValueError, RecursionError):
        return ""
    query = arguments.get("query") if isinstance(arguments, dict) else None
    return query if isinstance(query, str) else ""


class ToolResult(Protocol):
    """One retrieved chunk, as the tool reports it."""

    @property
    def chunk_text(self) -> str: ...
    @property
    def page_title(self) -> str: ...
    @property
    def section_heading(self) -> str | None: ...
    @property
    def source_url(self) -> str: ...
    @property
    def similarity_score(self) -> float: ...
    @property
    def rank(self) -> int: ...
    @property
    def number(self) -> int | None: ...


class PassageResult(NamedTuple):
    """A passage with its rank, as a `ToolResult`."""

    passage: Passage
    rank: int

    @property
    def chunk_text(self) -> str:
        return self.passage.chunk.text

    @property
    def page_title(self) -> str:
        return self.passage.chunk.locator.page_title

    @property
    def section_heading(self) -> str | None:
        return self.passage.chunk.locator.section_title

    @property
    def source_url(self) -> str:
        return self.passage.chunk.locator.address

    @property
    def similarity_score(self) -> float:
        return self.passage.score

    @property
    def number(self) -> int:
        return self.passage.number


async def run_retrieval_tool(arguments: ToolArguments, retrieve: Retrieve) -> tuple[Passage, ...]:
    """Runs one tool call: the passages found, best first. Raises what the search raises."""
    return await retrieve(arguments.query, arguments.top_k, arguments.similarity_threshold)


def tool_response(passages: Sequence[Passage], query: str) -> str:
    """The passages as the model reads them; it cites each by its `number`."""
    return format_tool_response([PassageResult(passage, rank) for rank, passage in enumerate(passages, 1)], query)


def format_tool_response(results: Sequence[ToolResult], query: str) -> str:
    """The results as JSON for an agent. A result without a `number` is listed without one."""
    return _json({"results": [_fields(result) for result in results], "total_results": len(results), "query": query})


def tool_error(message: str, query: str) -> str:
    """The error as JSON for an agent, with the beginning of the query it belongs to."""
    return _json({"error": message, "query": query if len(query) <= ECHO_MAX else f"{query[:ECHO_MAX]}…"})


def fewer_results(response: str) -> str:
    """A tool response with the better half of its results; any other text unchanged."""
    try:
        content = json.loads(response)
    except ValueError:
        return response
    if not isinstance(content, dict) or not isinstance(results := content.get("results"), list):
        return response
    best = results[: max(1, len(results) // 2)]
    return _json({**content, "results": best, "total_results": len(best)})


def preview(value: object) -> str:
    """A value a model sent, short enough to repeat in a message."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    if isinstance(value, str):
        return repr(value[:SHOWN_MAX]) + ("…" if len(value) > SHOWN_MAX else "")
    return repr(value)[:SHOWN_MAX]


def _fields(result: ToolResult) -> dict[str, object]:
    fields: dict[str, object] = {
        "chunk_text": result.chunk_text,
        "page_title": result.page_title,
        "section_heading": result.section_heading,
        "source_url": result.source_url,
        "similarity_score": result.similarity_score,
        "rank": result.rank,
    }
    return fields if result.number is None else {**fields, "number": result.number}


def _json(value: dict[str, object]) -> str:
    # ASCII escapes would cost a model several tokens for each non-English letter.
    return json.dumps(value, indent=2, ensure_ascii=False)
