"""/v1: a book as a model that clients of OpenAI's chat completions can already talk to. Nothing is stored."""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from bookwise.answering import phrases
from bookwise.answering.ask import ask, final
from bookwise.answering.marks import marks
from bookwise.api.access import Reader
from bookwise.api.limits import limiter_of
from bookwise.api.problems import Problem
from bookwise.api.routes.books import book_for, visible
from bookwise.api.service import Service, service_of
from bookwise.api.sse import EventStream, Frame
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.access import Caller
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, EvidenceFound, Passage, Question, Said
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, ModelUnavailable
from bookwise.domain.threads import LIVE_MESSAGES_MAX, Message
from bookwise.schemas.answers import Account, account_of

ANY_BOOK = "bookwise"
RULE = "\n\n---\n"
SOURCES = "**Sources:**"
CLOSEST = "**Closest in the book:**"
DONE = Frame(b"data: [DONE]\n\n", last=True)

_MARKDOWN = re.compile(r"([\\`*_\[\]<>&|~#])")

router = APIRouter(prefix="/v1", tags=["openai"], route_class=StrictRoute)


class Part(BaseModel):
    """A piece of a message that is not given as one string."""

    type: str
    text: str = ""


class ChatMessage(BaseModel):
    """One message of the request; what is not text is refused when it is read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        foreign = sorted({part.type for part in self.content} - {"text", "input_text", "output_text", "refusal"})
        if foreign:
            raise InvalidInput(f"A message holds {', '.join(foreign)}; only text is read.", advice="Send text parts.")
        return "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class CompletionRequest(BaseModel):
    """What is read of a request. Temperature, tools, token limits and the like are accepted and have no effect."""

    model: str = Field(max_length=200, description="A book's id; `bookwise` for the only or the default book.")
    messages: list[ChatMessage] = Field(min_length=1)
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def wants_usage(self) -> bool:
        return bool(self.stream_options and self.stream_options.include_usage)

    def split(self) -> tuple[str, list[Message]]:
        """The last user's message, and what was said before it. Instructions are left out: the book answers."""
        said = [message for message in self.messages if message.role in ("user", "assistant")]
        while said and said[-1].role != "user":
            said.pop()
        if not said:
            raise InvalidInput("There is no message of the role user.", advice="Ask the question in one.")
        return said[-1].text, [_remembered(message) for message in said[:-1][-LIVE_MESSAGES_MAX:]]


def _remembered(message: ChatMessage) -> Message:
    """A message of the past; the list below an answer is no part of what was said."""
    text = message.text
    if message.role != "assistant":
        return Message(role="user", content=text, timestamp=datetime.now(UTC))
    before, _, after = text.rpartition(RULE)
    is_ours = SOURCES in after or CLOSEST in after
    return Message(role="assistant", content=before if is_ours else text, timestamp=datetime.now(UTC))


@router.post("/chat/completions", response_model=None)
async def complete(asked: CompletionRequest, request: Request, caller: Reader) -> Response:
    """Answers the last user message from the book that `model` names, with its sources below."""
    service = service_of(request)
    book = await _book(asked.model, service, caller)
    text, history = asked.split()
    question = Question(
        text=text,
        book_id=book.id,
        top_k=service.settings.agent_top_k,
        threshold=service.settings.agent_score_threshold,
    )
    completion = Completion(book_id=book.id)
    events = ask(question, service.kit, history=history)
    if not asked.stream:
        return JSONResponse(completion.whole(_account(await final(events))))

    async def frames() -> AsyncGenerator[Frame]:
        with limiter_of(request).stream(caller):
            async with aclosing(completion.chunks(events, with_usage=asked.wants_usage)) as chunks:
                async for chunk in chunks:
                    yield _frame(chunk)
        yield DONE

    return EventStream(frames(), ending=_error, service=service)


@router.get("/models")
async def models(request: Request, caller: Reader) -> dict[str, Any]:
    """The books the caller may see."""
    service = service_of(request)
    books = await visible(service, caller).books()
    return {"object": "list", "data": [await _model(book, service) for book in books]}


@router.get("/models/{model}")
async def model(model: str, request: Request, caller: Reader) -> dict[str, Any]:
    """One book the caller may see."""
    service = service_of(request)
    return await _model(await _book(model, service, caller), service)


async def _book(model: str, service: Service, caller: Caller) -> Book:
    """The book a model's name means: `bookwise`, `bookwise:ID` or `ID`."""
    name, _, book_id = model.partition(":")
    return await book_for(caller, book_id or None if name == ANY_BOOK else model, service)


async def _model(book: Book, service: Service) -> dict[str, Any]:
    moments = [moment for moment in await service.app.catalog.last_ingested(book.id) if moment]
    created = int(max(moments).timestamp()) if moments else 0
    return {"id": book.id, "object": "model", "created": created, "owned_by": ANY_BOOK, "name": book.title}


def _account(answer: Answer) -> Account:
    """What can be told of an answer; `ModelUnavailable` for one that was cut off: half of it is no completion."""
    told = account_of(answer)
    if told.outcome == "interrupted":
        raise ModelUnavailable(told.reason or "", "The answer was cut off.", advice="Ask again.")
    return told


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer in the shapes of OpenAI's chat completions."""

    book_id: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, told: Account) -> dict[str, Any]:
        message = {
            "role": "assistant",
            "content": told.text + below(told),
            "refusal": None,
            "annotations": annotations(told),
        }
        choice = {"index": 0, "message": message, "finish_reason": _finish(told), "logprobs": None}
        return self._object("chat.completion", [choice], usage=_usage(told), bookwise=_facts(told))

    async def chunks(self, events: AsyncGenerator[AnswerEvent], *, with_usage: bool) -> AsyncGenerator[dict[str, Any]]:
        """The text as it comes, then what stands below it. Nothing before the book was searched: what fails until
        then still has a status of its own."""
        opened = False
        async with aclosing(events):
            async for event in events:
                if isinstance(event, EvidenceFound | Said) and not opened:
                    opened = True
                    yield self._chunk({"role": "assistant", "content": ""})
                if isinstance(event, Said):
                    yield self._chunk({"content": event.text})
                if isinstance(event, AnswerFinished):
                    for chunk in self._closing(_account(event.answer), with_usage=with_usage):
                        yield chunk

    def _closing(self, told: Account, *, with_usage: bool) -> Iterator[dict[str, Any]]:
        if listed := below(told):
            yield self._chunk({"content": listed, "annotations": annotations(told)})
        yield {**self._chunk({}, finish=_finish(told)), "bookwise": _facts(told)}
        if with_usage:
            yield self._object("chat.completion.chunk", [], usage=_usage(told))

    def _chunk(self, delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return self._object("chat.completion.chunk", [choice])

    def _object(self, kind: str, choices: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
        head = {"id": self.id, "object": kind, "created": self.created, "model": self.book_id}
        return {**head, "choices": choices, **more}


def below(told: Account) -> str:
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
    title = _plain(phrases.title(passage))
    return f"[{title}](<{where.url}>)" if _is_web(where.url) else f"{title} ({_plain(where.source_file)})"


def _plain(text: str) -> str:
    """A text from the book on one line, without a meaning in Markdown."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))


def _is_web(url: str) -> bool:
    return url.startswith(("https://", "http://")) and not set(url) & set("<> \n")


def annotations(told: Account) -> list[dict[str, Any]]:
    """Where the text cites a published place, and which."""
    cited = {citation.number: citation.passage for citation in told.citations}
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": mark.start,
                "end_index": mark.end,
                "title": phrases.title(cited[number]),
                "url": cited[number].chunk.locator.url,
            },
        }
        for mark in marks(told.text, list(cited.values()))
        for number in mark.numbers
        if _is_web(cited[number].chunk.locator.url)
    ]


def _finish(told: Account) -> str:
    if told.outcome == "blocked":
        return "content_filter"
    return "length" if told.made.truncated else "stop"


def _usage(told: Account) -> dict[str, int]:
    """What a language model was asked for; zero without one."""
    used = told.made.usage
    return {
        "prompt_tokens": used.prompt_tokens,
        "completion_tokens": used.completion_tokens,
        "total_tokens": used.total_tokens,
    }


def _facts(told: Account) -> dict[str, Any]:
    """What a program cannot read from the text."""
    return {
        "outcome": told.outcome,
        "reason": told.reason,
        "confidence": told.confidence.level,
        "engine": told.made.engine,
        "degraded": told.made.degraded,
    }


def _frame(chunk: Mapping[str, Any]) -> Frame:
    return Frame(f"data: {json.dumps(chunk)}\n\n".encode())


def _error(problem: Problem) -> Frame:
    """The last event of a stream that broke off, which OpenAI's clients raise as `APIError`."""
    told = {"message": problem.detail, "type": problem.slug, "code": problem.code or problem.slug, "param": None}
    return Frame(_frame({"error": told}).data, last=True)
