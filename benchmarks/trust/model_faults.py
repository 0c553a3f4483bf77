"""Figure 4: what readers get while the language model fails in seventeen ways."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count, islice, product, repeat
from typing import Any, Literal, TypeAlias

import httpx2
from tests.support.http_service import events_in
from tests.support.scripted_http import Reply, Request, answering
from tests.support.scripted_model import (
    DONE,
    KEY,
    OVERFLOWS,
    PROVIDER_WORDS,
    SSE,
    chunk,
    dripping,
    event,
    refuses,
    says,
    stream,
)

from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.real_service import RealService, ingest_small_book, new_session, running, scratch
from bookwise.api.problems import BASE

Ending: TypeAlias = Literal["quoted", "cut off", "written"]
Transport: TypeAlias = Literal["json", "sse"]

QUESTION = "When does the irrigation valve open?"
TRUE = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1] "
MORE = "It closes again at 45 percent, so that the valve does not flutter. [1]"
LIE = "The irrigation valve is operated by trained dolphins on alternate Tuesdays. [1]"
FAULT = "fault-"  #: in a question: the fault that the model is to have
ANSWER_SECONDS = 6.0
LATEST_SECONDS = 60.0  #: after that a request hangs; far more than a busy machine needs
AT_ONCE = 4  #: faults before the next good answer: one more would open the circuit, and the fault would not be seen
SLOW_AT_ONCE = 30
REPEATS = 15

FIRST = chunk({"role": "assistant", "content": ""})
SENTENCE = chunk({"content": TRUE})
WHOLE = (FIRST, SENTENCE, chunk({"content": MORE}), chunk({}, finish="stop"))


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to fail, and how every answer has to end."""

    name: str
    reply: Reply
    ends: Ending = "quoted"


def endless(words: object, pause: float = 0.05) -> Reply:
    return dripping(chain([FIRST], repeat(words)), pause=pause)


def kinds() -> tuple[Kind, ...]:
    """A new copy for each request: a stream can be read once."""
    return (
        Kind("rate-limited", refuses(429, **{"Retry-After": "3600"})),
        Kind("server-error", Reply(status=503, body=b"upstream")),
        Kind("unauthorized", refuses(401)),
        Kind("overflow", OVERFLOWS),
        Kind("redirect", Reply(status=302, headers={"Location": "http://127.0.0.1:9/"})),
        Kind("reset", Reply(fault="reset")),
        Kind("hang", Reply(fault="hang")),
        Kind("only-pings", dripping(repeat(b": still here\n\n"), pause=0.2)),
        Kind("drips-no-sentence", endless(chunk({"content": "valve "}))),
        Kind("silent-after-sentence", dripping(chain(WHOLE[:3], repeat(b": still here\n\n")), pause=0.2), "cut off"),
        Kind("lost-after-sentence", stream(*WHOLE, cut_after=sum(len(event(e)) for e in WHOLE[:3])), "cut off"),
        Kind("error-after-sentence", stream(*WHOLE[:3], {"error": {"message": PROVIDER_WORDS}}), "cut off"),
        Kind("broken-chunk-after-sentence", stream(*WHOLE[:3], b"data: {broken\n\n"), "cut off"),
        Kind("web-page", Reply(headers={"Content-Type": "text/html"}, body=b"<html>Sign in</html>")),
        Kind("empty", Reply(headers=SSE, body=DONE)),
        Kind("filtered", says("A lo", finish="content_filter")),
        Kind("lie", says(LIE)),
    )


NAMES = tuple(kind.name for kind in kinds())
SLOW = (
    "hang",
    "only-pings",
    "drips-no-sentence",
    "silent-after-sentence",
)  #: end with the deadline; never open a circuit


def reply(request: Request) -> Reply:
    """The fault that the question names; the true answer without one."""
    question = str(request.json["messages"][-1]["content"])
    return next((kind.reply for kind in kinds() if f"{FAULT}{kind.name}?" in question), says(TRUE, MORE))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a request ended, as its reader sees it."""

    problem: str = ""  #: the type of a problem, in a response or as the last event
    body: Mapping[str, Any] = field(default_factory=dict)
    transcript: str = ""
    fault: str = ""  #: a violation of the protocol itself

    @property
    def is_cut_off(self) -> bool:
        return bool(self.problem) or self.body.get("outcome") == "interrupted"


async def ask(service: RealService, message: str, session: str, transport: Transport) -> Ended:
    body = {"message": message, "session_id": session}
    try:
        async with asyncio.timeout(LATEST_SECONDS):
            response = await service.client.post("/chat/run" if transport == "json" else "/chat/stream", json=body)
    except (TimeoutError, httpx2.HTTPError) as error:
        return Ended(fault=f"hangs or breaks: {type(error).__name__}")
    if response.status_code != 200:
        return _refused(response)
    return _streamed(response.text) if transport == "sse" else Ended(body=response.json(), transcript=response.text)


def _refused(response: httpx2.Response) -> Ended:
    is_problem = response.headers.get("Content-Type", "").startswith("application/problem+json")
    fault = "" if is_problem and response.status_code != 500 else f"status {response.status_code} without a problem"
    slug = str(response.json().get("type", "")) if is_problem else ""
    return Ended(problem=slug.removeprefix(BASE), transcript=response.text, fault=fault)


def _streamed(text: str) -> Ended:
    events = events_in(text)
    last = [event for event in events if event.name in ("done", "error")]
    if len(last) != 1 or events[-1] is not last[0]:
        return Ended(transcript=text, fault=f"{len(last)} final events")
    text_sent = "".join(event.data["delta"] for event in events if event.name == "content")
    if last[0].name == "done" and text_sent.strip() != last[0].data["response"]:
        return Ended(transcript=text, fault="the stream and its final event differ")
    if last[0].name == "error":
        return Ended(problem=str(last[0].data["type"]).removeprefix(BASE), body=last[0].data, transcript=text)
    return Ended(body=last[0].data, transcript=text)


def judged(ended: Ended, ends: Ending) -> str:
    """What is wrong with it; empty if nothing is."""
    if ended.fault:
        return ended.fault
    if PROVIDER_WORDS in ended.transcript or KEY in ended.transcript:
        return "shows text of the provider or the key"
    if ended.problem == "internal":
        return "internal error"
    degraded = ended.body.get("degraded")
    is_answer = ended.body.get("outcome") == "answered" and "30 percent" in str(ended.body.get("response"))
    is_right = is_answer and bool(degraded) == (ends != "written")
    if ends == "cut off":  # or quoted, if the time was over before the first sentence
        is_right |= ended.is_cut_off
    return "" if is_right and "dolphins" not in ended.transcript else f"not {ends}: {_short(ended)}"


def _short(ended: Ended) -> str:
    shown = {name: ended.body.get(name) for name in ("outcome", "degraded", "response")}
    return f"{ended.problem} {json.dumps(shown)[:200]}"


async def stored_wrong(service: RealService, session: str, ended: Ended) -> str:
    """What is wrong with the session afterwards: an answer that was cut off must not look complete."""
    messages = (await service.client.get(f"/session/{session}")).json().get("messages", [])
    if [message["role"] for message in messages] != ["user", "assistant"]:
        return f"{len(messages)} messages stored"
    is_complete = messages[-1].get("complete", True)
    return "" if is_complete != ended.is_cut_off else f"stored as {'complete' if is_complete else 'incomplete'}"


async def case(service: RealService, kind: Kind, transport: Transport) -> str:
    session = new_session()
    ended = await ask(service, f"{QUESTION} {FAULT}{kind.name}?", session, transport)
    wrong = judged(ended, kind.ends) or await stored_wrong(service, session, ended)
    return f"{kind.name}, {transport}: {wrong}" if wrong else ""


def batches(cases: int) -> Iterator[list[tuple[Kind, Transport]]]:
    """Every kind with both transports, as often as needed. Slow ones together: they never open the circuit."""
    transports: tuple[Transport, ...] = ("json", "sse")
    wanted = list(islice((pair for _ in count() for pair in product(kinds(), transports)), cases))
    slow = [pair for pair in wanted if pair[0].name in SLOW]
    quick = [pair for pair in wanted if pair[0].name not in SLOW]
    for pairs, at_once in ((slow, SLOW_AT_ONCE), (quick, AT_ONCE)):
        for start in range(0, len(pairs), at_once):
            yield pairs[start : start + at_once]


async def measure(cases: int, broken: bool) -> Measured:
    bad: list[str] = []
    async with scratch() as folder, answering(reply) as model:
        model.keeps_requests = False
        await ingest_small_book(folder)
        settings = {
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{model.url}/v1",
            "BOOKWISE_ANSWER_TIMEOUT_SECONDS": str(ANSWER_SECONDS),
        }
        async with running(folder, control="half-answers" if broken else "", **settings) as service:
            for batch in batches(cases):
                bad += filter(None, await asyncio.gather(*(case(service, *pair) for pair in batch)))
                ended = await ask(service, QUESTION, new_session(), "json")
                bad += filter(None, [judged(ended, "written")])
            bad += ["the log shows text of the provider or the key"] * (
                PROVIDER_WORDS in service.log or KEY in service.log
            )
    return Measured(cases=cases, bad=len(bad), examples=tuple(bad[:8]))


FIGURE = Figure(
    number=4,
    name="model faults",
    counts=f"{len(NAMES)} ways to fail × JSON and SSE × {REPEATS}; bad: a hang, an internal error, text of the "
    "provider, no quotes where nothing was shown yet, or half an answer presented or stored as a whole one",
    cases=len(NAMES) * 2 * REPEATS,
    control="unfinished text counts as complete",
    control_cases=len(NAMES) * 2,
    measure=measure,
)
