"""/v1: a book as a model that clients of OpenAI's chat completions can already talk to. No thread is stored."""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from time import time
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, Path, Request, Response
from fastapi.responses import JSONResponse

from bookwise.answering import messages
from bookwise.answering.ask import ask, final
from bookwise.answering.grounding.citation_marks import citation_marks
from bookwise.api.answer_log import ChatTurn, log_answer
from bookwise.api.auth.access import Reader
from bookwise.api.auth.rate_limit import limiter_of
from bookwise.api.problems import Problem, documented
from bookwise.api.routes.books import book_for, visible
from bookwise.api.sse import EventStream, Frame
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, EvidenceFound, Passage, Question, TextDelta
from bookwise.domain.books import Book
from bookwise.domain.errors import ModelUnavailable
from bookwise.schemas.answers import AnswerSummary, summarize_answer
from bookwise.schemas.completions import (
    CLOSEST,
    RULE,
    SOURCES,
    ChatCompletion,
    CompletionRequest,
    ModelCard,
    ModelList,
)

ANY_BOOK = "bookwise"
DONE = Frame(b"data: [DONE]\n\n", last=True)

_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|~#])")

router = APIRouter(prefix="/v1", tags=["openai"], route_class=StrictRoute)


EXAMPLES = {
    "question": {
        "summary": "A question to the only or the default book",
        "value": {"model": ANY_BOOK, "messages": [{"role": "user", "content": "What is a node?"}]},
    }
}
COMPLETIONS: dict[int | str, dict[str, Any]] = documented(404, 502, 504) | {
    200: {
        "model": ChatCompletion,
        "description": "The answer, or its stream where `stream` is true.",
        "content": {
            "text/event-stream": {
                "itemSchema": {"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}},
                "example": "data: {…}\n\ndata: [DONE]\n\n",
            }
        },
    }
}
Completing = Annotated[CompletionRequest, Body(openapi_examples=EXAMPLES)]


@router.post("/chat/completions", response_model=None, responses=COMPLETIONS, summary="Complete a chat from a book")
async def complete(asked: Completing, request: Request, caller: Reader) -> Response:
    """Answers the last user message from the book that `model` names, with its sources below."""
    service = state_of(request)
    book = await _book(asked.model, service, caller)
    text, history = asked.split()
    question = Question(
        text=text,
        book_id=book.id,
        top_k=service.settings.agent_top_k,
        threshold=service.settings.agent_score_threshold,
    )
    asking = ChatTurn(question=question, owner=caller.owner)
    completion = Completion(book_id=book.id, answer_id=asking.answer_id)
    events = log_answer(ask(question, service.kit, history=history), asking, service)
    if not asked.stream:
        async with aclosing(events):
            return JSONResponse(completion.whole(_account(await final(events))))

    async def frames() -> AsyncGenerator[Frame]:
        with limiter_of(request).stream(caller):
            async with aclosing(completion.chunks(events, with_usage=asked.wants_usage)) as chunks:
                async for chunk in chunks:
                    yield _frame(chunk)
        yield DONE

    return EventStream(frames(), ending=_error, service=service)


@router.get("/models", summary="List the books as models")
async def models(request: Request, caller: Reader) -> ModelList:
    """The books the caller may see."""
    service = state_of(request)
    books = await visible(service, caller).books()
    return ModelList(data=tuple([await _model(book, service) for book in books]))


@router.get("/models/{model}", summary="Look up a book as a model", responses=documented(404))
async def model(model: Annotated[str, Path(max_length=200)], request: Request, caller: Reader) -> ModelCard:
    """One book the caller may see."""
    service = state_of(request)
    return await _model(await _book(model, service, caller), service)


async def _book(model: str, service: ServiceState, caller: Caller) -> Book:
    """The book a model's name means: `bookwise`, `bookwise:ID` or `ID`."""
    name, _, book_id = model.partition(":")
    return await book_for(caller, book_id or None if name == ANY_BOOK else model, service)


async def _model(book: Book, service: ServiceState) -> ModelCard:
    moments = [moment for moment in await service.app.catalog.last_ingested(book.id) if moment]
    created = int(max(moments).timestamp()) if moments else 0
    return ModelCard(id=book.id, created=created, owned_by=ANY_BOOK, name=book.title)


def _account(answer: Answer) -> AnswerSummary:
    """What can be told of an answer; `ModelUnavailable` for one that was cut off: half of it is no completion."""
    told = summarize_answer(answer)
    if told.outcome == "interrupted":
        raise ModelUnavailable(told.reason or "", "The answer was cut off.", advice="Ask again.")
    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer in the shapes of OpenAI's chat completions."""

    book_id: str
    answer_id: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, told: AnswerSummary) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": told.text + below(told),
            "refusal": None,
            "annotations": annotations(told),
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish(told), "logprobs": None}
        return self._object("chat.completion", [choice], usage=_usage(told), bookwise=self._facts(told))

    async def chunks(self, events: AsyncGenerator[AnswerEvent], *, with_usage: bool) -> AsyncGenerator[dict[str, Any]]:
        """The text as it comes, then what stands below it. Nothing before the book was searched: what fails until
        then still has a status of its own."""
        opened = False
        async with aclosing(events):
            async for event in events:
                if isinstance(event, EvidenceFound | TextDelta) and not opened:
                    opened = True
                    yield self._chunk({"role": "assistant", "content": ""})
                if isinstance(event, TextDelta):
                    yield self._chunk({"content": event.text})
                if isinstance(event, AnswerFinished):
                    for chunk in self._closing(_account(event.answer), with_usage=with_usage):
                        yield chunk

    def _closing(self, told: AnswerSummary, *, with_usage: bool) -> Iterator[dict[str, Any]]:
        if listed := below(told):
            yield self._chunk({"content": listed, "annotations": annotations(told)})
        yield {**self._chunk({}, finish=_finish(told)), "bookwise": self._facts(told)}
        if with_usage:
            yield self._object("chat.completion.chunk", [], usage=_usage(told))

    def _facts(self, told: AnswerSummary) -> dict[str, Any]:
        """What a program cannot read from the text."""
        return {
            "answer_id": self.answer_id,
            "outcome": told.outcome,
            "reason": told.reason,
            "confidence": told.confidence.level,
            "engine": told.meta.engine,
            "degraded": told.meta.degraded,
        }

    def _chunk(self, delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return self._object("chat.completion.chunk", [choice])

    def _object(self, kind: str, choices: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.book_id}
        return {**head, "choices": choices, **more}


def below(told: AnswerSummary) -> str:
    """The places an answer cites, or those closest to a refusal, as a Markdown list; empty when there are none."""
    passages = [citation.passage for citation in told.citations] or told.nearest
    if not passages:
        return ""
    notice = f"*{told.disclaimer}*\n\n" if told.disclaimer else ""
    title = SOURCES if told.citations else CLOSEST
    listed = "".join(f"\n- [{passage.number}] {_link(passage)}" for passage in passages)
    return f"{RULE}{notice}{title}\n{listed}"


def _link(passage: Passage) -> str:
    where = passage.chunk.locator
    title = _plain(messages.title(passage))
    return f"[{title}](<{where.url}>)" if _is_web(where.url) else f"{title} ({_plain(where.source_file)})"


def _plain(text: str) -> str:
    """A text from the book on one line, without a meaning in Markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://")) and not set(url) & set("<> \n")


def annotations(told: AnswerSummary) -> list[dict[str, Any]]:
    """Where the text cites a published place, and which."""
    cited = {citation.number: citation.passage for citation in told.citations}
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
        for mark in citation_marks(told.text, list(cited.values()))
        for number in mark.numbers
        if _is_web(cited[number].chunk.locator.url)
    ]


def _finish(told: AnswerSummary) -> str:
    if told.outcome == "blocked":
        return "content_filter"
    return "length" if told.meta.truncated else "stop"


def _usage(told: AnswerSummary) -> dict[str, int]:
    """What a language model was asked for; zero without one."""
    used = told.meta.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
    }


def _frame(chunk: Mapping[str, Any]) -> Frame:
    return Frame(f"data: {json.dumps(chunk)}\n\n".encode())


def _error(problem: Problem) -> Frame:
    """The last event of a stream that broke off, which OpenAI's clients raise as `APIError`."""
    return Frame(_frame({"error": problem.for_openai}).data, last=True)
