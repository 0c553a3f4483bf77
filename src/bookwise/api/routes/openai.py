"""/v1: books as models, for clients of OpenAI's chat completions API. Nothing is stored."""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import JSONResponse

from bookwise.answering import messages
from bookwise.answering.ask import ask, final
from bookwise.answering.grounding.citation_marks import citation_marks
from bookwise.api.answer_log import ChatTurn, log_answer
from bookwise.api.auth.access import Reader
from bookwise.api.auth.rate_limit import rate_limits_of
from bookwise.api.problems import Problem, documented
from bookwise.api.routes.books import book_for, visible
from bookwise.api.sse import EventStream, Frame
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, EvidenceFound, Passage, Question, TextDelta
from bookwise.domain.books import Book
from bookwise.domain.errors import ModelUnavailable
from bookwise.schemas.answers import AnswerSummary, HighlightRange, RelatedLink, summarize_answer
from bookwise.schemas.completions import (
    ANY_BOOK,
    CLOSEST,
    RULE,
    SOURCES,
    ChatCompletion,
    CompletionRequest,
    ModelCard,
    ModelList,
)

DONE = Frame(b"data: [DONE]\n\n", last=True)

_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|~#])")

router = APIRouter(prefix="/v1", tags=["openai"], route_class=StrictRoute)

COMPLETIONS: dict[int | str, dict[str, Any]] = documented(404, 502, 504) | {
    200: {
        "model": ChatCompletion,
        "description": "The answer, or a stream of it when `stream` is true.",
        "content": {
            "text/event-stream": {
                "itemSchema": {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}},
                "example": "data: {…}\n\ndata: [DONE]\n\n",
            }
        },
    }
}
ModelName = Annotated[str, Path(max_length=200, description="A book id, or `bookwise` for the only or default book.")]


@router.post("/chat/completions", response_model=None, responses=COMPLETIONS, summary="Complete a chat from a book")
async def complete(body: CompletionRequest, request: Request, caller: Reader) -> Response:
    """Answers the last user message from the book named by `model`, followed by the sources."""
    state = state_of(request)
    book = await _book(body.model, state, caller)
    text, history = body.split()
    question = Question(
        text=text,
        book_id=book.id,
        top_k=state.settings.agent_top_k,
        threshold=state.settings.agent_score_threshold,
    )
    turn = ChatTurn(question=question, owner=caller.owner)
    completion = Completion(book_id=book.id, answer_id=turn.answer_id)
    logged = log_answer(ask(question, state.kit, history=history), turn, state)
    events = state.load_limit.answer(logged, state.kit)
    if not body.stream:
        async with aclosing(events):
            return JSONResponse(completion.whole(_summary(await final(events))))

    async def frames() -> AsyncGenerator[Frame]:
        chunks = completion.chunks(events, with_usage=body.wants_usage)
        async with rate_limits_of(request).stream(caller), aclosing(chunks):
            async for chunk in chunks:
                yield _frame(chunk)
        yield DONE

    return EventStream(frames(), ending=_error, state=state)


@router.get("/models", summary="List the books as models")
async def models(request: Request, caller: Reader) -> ModelList:
    """Returns the books that the caller may see."""
    state = state_of(request)
    books = await visible(state, caller).books()
    return ModelList(data=tuple([await _model(book, state) for book in books]))


@router.get("/models/{model}", summary="Read a book as a model", responses=documented(404))
async def model(model: ModelName, request: Request, caller: Reader) -> ModelCard:
    """Returns one book that the caller may see."""
    state = state_of(request)
    return await _model(await _book(model, state, caller), state)


async def _book(model: str, state: ServiceState, caller: Caller) -> Book:
    """The book of a model name: `bookwise`, `bookwise:ID` or `ID`."""
    name, _, book_id = model.partition(":")
    return await book_for(caller, book_id or None if name == ANY_BOOK else model, state)


async def _model(book: Book, state: ServiceState) -> ModelCard:
    times = [time for time in await state.app.catalog.last_ingested(book.id) if time]
    created = int(max(times).timestamp()) if times else 0
    return ModelCard(id=book.id, created=created, owned_by=ANY_BOOK, name=book.title)


def _summary(answer: Answer) -> AnswerSummary:
    """Raises `ModelUnavailable` for an interrupted answer: part of an answer is not a completion."""
    summary = summarize_answer(answer)
    if summary.outcome == "interrupted":
        raise ModelUnavailable(summary.reason or "", "The answer was cut off.", advice="Ask again.")
    return summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer in OpenAI's format."""

    book_id: str
    answer_id: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, summary: AnswerSummary) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": summary.text + source_list(summary),
            "refusal": None,
            "annotations": annotations(summary),
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish(summary), "logprobs": None}
        return self._object("chat.completion", [choice], usage=_usage(summary), bookwise=self._facts(summary))

    async def chunks(self, events: AsyncGenerator[AnswerEvent], *, with_usage: bool) -> AsyncGenerator[dict[str, Any]]:
        """The text as it is written, then the sources. Nothing is sent before the search has ended, so that an earlier
        error still has its own HTTP status."""
        is_open = False
        async with aclosing(events):
            async for event in events:
                if isinstance(event, EvidenceFound | TextDelta) and not is_open:
                    is_open = True
                    yield self._chunk({"role": "assistant", "content": ""})
                if isinstance(event, TextDelta):
                    yield self._chunk({"content": event.text})
                if isinstance(event, AnswerFinished):
                    for chunk in self._closing(_summary(event.answer), with_usage=with_usage):
                        yield chunk

    def _closing(self, summary: AnswerSummary, *, with_usage: bool) -> Iterator[dict[str, Any]]:
        if sources := source_list(summary):
            yield self._chunk({"content": sources, "annotations": annotations(summary)})
        yield {**self._chunk({}, finish=_finish(summary)), "bookwise": self._facts(summary)}
        if with_usage:
            yield self._object("chat.completion.chunk", [], usage=_usage(summary))

    def _facts(self, summary: AnswerSummary) -> dict[str, Any]:
        """Facts that OpenAI's format has no field for."""
        return {
            "answer_id": self.answer_id,
            "outcome": summary.outcome,
            "reason": summary.reason,
            "confidence": summary.confidence.level,
            "engine": summary.meta.engine,
            "degraded": summary.meta.degraded,
            "highlights": [HighlightRange.of(highlight).model_dump() for highlight in summary.highlights],
            "related": [RelatedLink.of(related).model_dump() for related in summary.related],
        }

    def _chunk(self, delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return self._object("chat.completion.chunk", [choice])

    def _object(self, kind: str, choices: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.book_id}
        return {**head, "choices": choices, **more}


def source_list(summary: AnswerSummary) -> str:
    """The sources of an answer, or the closest passages of a refusal, as a Markdown list; empty without any."""
    passages = [citation.passage for citation in summary.citations] or summary.nearest
    if not passages:
        return ""
    notice = f"*{summary.disclaimer}*\n\n" if summary.disclaimer else ""
    title = SOURCES if summary.citations else CLOSEST
    items = "".join(f"\n- [{passage.number}] {_link(passage)}" for passage in passages)
    return f"{RULE}{notice}{title}\n{items}"


def _link(passage: Passage) -> str:
    where = passage.chunk.locator
    title = _escape(messages.title(passage))
    return f"[{title}](<{where.url}>)" if _is_web(where.url) else f"{title} ({_escape(where.source_file)})"


def _escape(text: str) -> str:
    """A text on one line, with Markdown characters escaped."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://")) and not set(url) & set("<> \n")


def annotations(summary: AnswerSummary) -> list[dict[str, Any]]:
    """The citations in the text that point to a published page."""
    cited = {citation.number: citation.passage for citation in summary.citations}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": mark.start,
                "end_index": mark.end,
                "title": messages.title(cited[number]),
                "url": cited[number].chunk.locator.url,
            },
        }
        for mark in citation_marks(summary.text, list(cited.values()))
        for number in mark.numbers
        if _is_web(cited[number].chunk.locator.url)
    ]


def _finish(summary: AnswerSummary) -> str:
    if summary.outcome == "blocked":
        return "content_filter"
    return "length" if summary.meta.truncated else "stop"


def _usage(summary: AnswerSummary) -> dict[str, int]:
    """Tokens usage by the language model; 0 without one."""
    usage = summary.meta.usage
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


def _frame(chunk: Mapping[str, Any]) -> Frame:
    return Frame(f"data: {json.dumps(chunk)}\n\n".encode())


def _error(problem: Problem) -> Frame:
    """The last event of a failed stream. OpenAI's clients raise it as `APIError`."""
    return Frame(_frame({"error": problem.for_openai}).data, last=True)
