"""Words and tool calls into a real chat-completions server on loopback, and what an engine makes of them."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

import anyio

from bookwise.adapters.openai.breaker import Breaker
from bookwise.adapters.openai.client import ModelClient, ModelTimeouts
from bookwise.domain.answers import Confidence, Evidence, Passage, SearchStarted, TextDelta
from bookwise.domain.books import Book
from bookwise.domain.errors import ModelUnavailable
from bookwise.domain.threads import ThreadMessage
from bookwise.ports import Answerer, AnswerTask, Retrieve, Written
from tests.support.answers import chunk_text, sections_of
from tests.support.builders import NOON, chunks
from tests.support.scripted_http import Reply

KEY = "sk-a-secret-nobody-may-read"
MODEL = "a-model"
DONE = b"data: [DONE]\n\n"
SSE = {"Content-Type": "text/event-stream"}
TOOL = "retrieve_documentation"

#: What a provider says in an error, and nobody else may hear.
PROVIDER_WORDS = "provider-words-that-must-not-leak"


def chunk(delta: Mapping[str, Any], *, finish: str | None = None) -> dict[str, Any]:
    """One chunk as the service's own documentation shows it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "delta": dict(delta), "finish_reason": finish}],
    }


def usage(prompt: int, completion: int) -> dict[str, Any]:
    figures = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {**chunk({}), "choices": [], "usage": figures}


def event(data: object) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def stream(*events: object, done: bool = True, **how: Any) -> Reply:
    """A stream of these events; bytes are sent as they are."""
    parts = [part if isinstance(part, bytes) else event(part) for part in events]
    return Reply(headers=SSE, body=b"".join([*parts, DONE] if done else parts), **how)


def dripping(events: Iterable[object], *, pause: float, **how: Any) -> Reply:
    """The same, sent one by one with a rest after each; they may never end."""
    parts = (part if isinstance(part, bytes) else event(part) for part in events)
    return Reply(headers=SSE, body=parts, pause=pause, **how)


def says(*words: str, finish: str = "stop", tokens: tuple[int, int] | None = (11, 7), **how: Any) -> Reply:
    """An answer of these pieces."""
    opening = chunk({"role": "assistant", "content": ""})
    pieces = [chunk({"content": word}) for word in words]
    end = [chunk({}, finish=finish), *([usage(*tokens)] if tokens else [])]
    return stream(opening, *pieces, *end, **how)


def searches(*queries: str, before: str = "") -> Reply:
    """Calls of the tool, one for each query."""
    return tool_calls(*[(TOOL, json.dumps({"query": query})) for query in queries], before=before)


def tool_calls(*calls: tuple[str, str], before: str = "", piece: int = 10**9) -> Reply:
    """Calls of tools by name and raw arguments, which come in pieces of this length."""
    events: list[object] = [chunk({"role": "assistant", "content": before or None})]
    for index, (name, arguments) in enumerate(calls):
        head = {"index": index, "id": f"call-{index}", "type": "function"}
        events.append(chunk({"tool_calls": [{**head, "function": {"name": name, "arguments": ""}}]}))
        for start in range(0, len(arguments), piece):
            part = {"index": index, "function": {"arguments": arguments[start : start + piece]}}
            events.append(chunk({"tool_calls": [part]}))
    return stream(*events, chunk({}, finish="tool_calls"), usage(11, 7))


def refuses(status: int, *, code: str = "", message: str = PROVIDER_WORDS, **headers: str) -> Reply:
    """An error as the service's own documentation shows it."""
    error = {"message": f"{message} {KEY}", "type": "invalid_request_error", "param": None, "code": code}
    return Reply(status=status, json={"error": error}, headers={"Content-Type": "application/json", **headers})


OVERFLOWS = refuses(400, code="context_length_exceeded")


@asynccontextmanager
async def model_client(
    url: str, timeouts: ModelTimeouts | None = None, breaker: Breaker | None = None
) -> AsyncIterator[ModelClient]:
    async with ModelClient(KEY, base_url=f"{url}/v1", model=MODEL, timeouts=timeouts, breaker=breaker) as client:
        yield client


@dataclass
class Searches:
    """A book that finds one passage for each query, and remembers what it was asked."""

    asked: list[tuple[str, int, float]] = field(default_factory=list)
    now: int = 0
    most_at_once: int = 0
    found: list[Passage] = field(default_factory=list)

    async def __call__(self, query: str, top_k: int, threshold: float) -> tuple[Passage, ...]:
        self.asked.append((query, top_k, threshold))
        self.now += 1
        self.most_at_once = max(self.most_at_once, self.now)
        await anyio.sleep(0.001)
        self.now -= 1
        known = [passage for passage in self.found if query in passage.chunk.text]
        if not known:
            known = [passage(f"The book says of {query}.", number=len(self.found) + 1)]
            self.found += known
        return tuple(known)


def passage(text: str, *, number: int = 1, title: str = "loops", url: str = "", score: float = 0.8) -> Passage:
    [made, *_] = chunks(title, "r1", text)
    made = replace(made, text=text, locator=replace(made.locator, url=url))
    return Passage(number=number, chunk=made, score=score)


def evidence(*passages: Passage, question: str = "What is a loop?") -> Evidence:
    facts = Confidence(
        average=0.8, minimum=0.8, maximum=0.8, count=len(passages), diversity=0.0, similarity_level="high"
    )
    sections = sections_of(question, passages)
    return Evidence(question=question, passages=passages, confidence=facts, sections=sections)


def task(*, within: float = 10.0, retrieve: Retrieve | None = None, **facts: Any) -> AnswerTask:
    """What an engine is given; `within` counts from now."""
    plain = AnswerTask(
        question="What is a loop?",
        standalone="What is a loop?",
        book=Book(id="book", title="A Book of Loops"),
        evidence=evidence(passage("A loop repeats its body.")),
        retrieve=retrieve or Searches(),
        read_section=chunk_text,
        deadline=anyio.current_time() + within,
    )
    return replace(plain, **facts)


def message(role: str, content: str, **facts: Any) -> ThreadMessage:
    return ThreadMessage(role=cast(Any, role), content=content, timestamp=NOON, **facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came out of an engine, in order, and how it ended."""

    events: list[TextDelta | SearchStarted | Written]
    error: ModelUnavailable | None = None

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def searches(self) -> list[str]:
        return [event.query for event in self.events if isinstance(event, SearchStarted)]

    @property
    def written(self) -> Written:
        last = self.events[-1]
        assert isinstance(last, Written), f"ended with {last!r}, {self.error!r}"
        return last

    @property
    def reason(self) -> str:
        assert self.error is not None, f"nothing went wrong: {self.events}"
        return self.error.reason


async def outcome(answerer: Answerer, asked: AnswerTask) -> Outcome:
    """Everything the engine gives, also when it fails."""
    events: list[TextDelta | SearchStarted | Written] = []
    try:
        async with aclosing(cast(Any, answerer.answer(asked))) as answer:
            async for event in answer:
                events.append(event)
    except ModelUnavailable as error:
        return Outcome(events=events, error=error)
    return Outcome(events=events)
