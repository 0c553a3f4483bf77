"""Random sequences of requests, compared with a model of what the service should remember."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.support.small_books import ASKS_NEAR, ASKS_NOTHING, ASKS_SERVICE, ASKS_TOPIC

from benchmarks.trust.service import BOOK, Line, Reply, Running

SHORTEST, LONGEST = 4, 9
AT_ONCE = 3
QUESTIONS = (ASKS_TOPIC, ASKS_SERVICE, ASKS_NOTHING, ASKS_NEAR)


@dataclass(slots=True)
class Sequence:
    """One reader, the requests so far, and what should be stored."""

    line: Line
    dice: random.Random
    answers: dict[str, str]  #: the text of the first answer of a session, by question
    sessions: dict[str, list[str]] = field(default_factory=dict)  #: contents of the messages, by session
    deleted: list[str] = field(default_factory=list)
    rated: dict[str, str] = field(default_factory=dict)  #: session of each answer
    kept: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    async def run(self) -> list[str]:
        """What went wrong."""
        operations: list[Callable[[], Awaitable[None]]] = [
            self._ask, self._ask, self._ask_again, self._repeat, self._read, self._history, self._page, self._delete,
            self._rate, self._rate_nothing, self._ingest, self._job, self._cancel, self._search, self._forget,
        ]  # fmt: skip
        for operation in self.dice.choices(operations, k=self.dice.randint(SHORTEST, LONGEST)):
            await operation()
        return [f"{' → '.join(self.steps)}: {fault}" for fault in self.found]

    def _expect(self, step: str, reply: Reply, *statuses: int) -> bool:
        """Notes the step; whether it ended as it should, and well."""
        self.steps.append(step)
        kind = reply.headers.get("content-type", "")
        if reply.status not in statuses:
            self.found.append(f"{step}: {reply.status} instead of {statuses}: {reply.body[:300]!r}")
        if reply.status >= 400 and (kind != "application/problem+json" or "advice" not in reply.json):
            self.found.append(f"{step}: {reply.status} as {kind}")
        return reply.status in statuses and reply.status < 300

    def _any_session(self) -> str:
        return self.dice.choice([*self.sessions, *self.deleted, str(uuid4())])

    async def _ask(self) -> None:
        await self._ask_in(self._any_session())

    async def _ask_again(self) -> None:
        await self._ask_in(self.dice.choice([*self.sessions] or [str(uuid4())]))

    async def _ask_in(self, session: str) -> None:
        question, key = self.dice.choice(QUESTIONS), str(uuid4())
        body = {"message": question, "session_id": session}
        reply = await self.line.post("/chat/run", body, **{"Idempotency-Key": f'"{key}"'})
        if not self._expect("ask", reply, 200):
            return
        text = reply.json["response"]
        if session not in self.sessions and text != self.answers[question]:
            self.found.append(f"ask: {text!r} instead of {self.answers[question]!r}")
        self.sessions.setdefault(session, []).extend([question, text.strip()])
        self.rated[reply.json["answer_id"]] = session
        self.kept.append((key, body, reply.body))

    async def _repeat(self) -> None:
        for key, body, before in self.kept[-1:]:
            if body["session_id"] not in self.sessions:
                continue  # whether a deleted session's response is sent again is another question
            reply = await self.line.post("/chat/run", body, **{"Idempotency-Key": f'"{key}"'})
            if self._expect("repeat", reply, 200) and reply.body != before:
                self.found.append("repeat: another response")

    async def _read(self) -> None:
        session = self._any_session()
        reply = await self.line.get(f"/session/{session}")
        if self._expect("read", reply, 200 if session in self.sessions else 404):
            self._compare("read", reply, self.sessions[session])

    async def _history(self) -> None:
        session = self._any_session()
        reply = await self.line.get(f"/session/{session}/history?limit=200")
        if self._expect("history", reply, 200 if session in self.sessions else 404):
            self._compare("history", reply, self.sessions[session])

    async def _page(self) -> None:
        for session in [*self.sessions][-1:]:
            reply = await self.line.get(f"/session/{session}/history?limit=1&offset=1")
            if self._expect("page", reply, 200):
                self._compare("page", reply, self.sessions[session][1:2])

    def _compare(self, step: str, reply: Reply, expected: list[str]) -> None:
        contents = [message["content"] for message in reply.json["messages"]]
        if contents != expected:
            self.found.append(f"{step}: {contents} instead of {expected}")

    async def _delete(self) -> None:
        session = self._any_session()
        reply = await self.line.delete(f"/session/{session}")
        if self._expect("delete", reply, 204 if session in self.sessions else 404):
            del self.sessions[session]
            self.deleted.append(session)
            self.rated = {answer: each for answer, each in self.rated.items() if each != session}

    async def _rate(self) -> None:
        for answer in [*self.rated][-1:]:
            rating = {"answer_id": answer, "thumb": self.dice.choice(["up", "down"])}
            self._expect("rate", await self.line.post("/feedback", rating), 204)

    async def _rate_nothing(self) -> None:
        reply = await self.line.post("/feedback", {"answer_id": str(uuid4()), "thumb": "up"})
        self._expect("rate nothing", reply, 404)

    async def _ingest(self) -> None:
        reply = await self.line.post("/ingestion/trigger", {"book_id": BOOK})
        if self._expect("ingest", reply, 202, 409):
            self.jobs.append(reply.json["job_id"])

    async def _job(self) -> None:
        known = self.dice.choice([*self.jobs, 10**9])
        reply = await self.line.get(f"/ingestion/status/{known}")
        if self._expect("job", reply, 200 if known in self.jobs else 404) and reply.json["job"]["job_id"] != known:
            self.found.append("job: another job")

    async def _cancel(self) -> None:
        for job in self.jobs[-1:]:
            self._expect("cancel", await self.line.post(f"/ingestion/jobs/{job}/cancel", {}), 202)

    async def _search(self) -> None:
        reply = await self.line.post("/search", {"text": ASKS_TOPIC})
        if self._expect("search", reply, 200) and reply.json["results"][0]["source_file"] != "topics.md":
            self.found.append("search: another lesson comes first")

    async def _forget(self) -> None:
        """A book that does not exist can be neither asked nor removed."""
        absent = f"absent-{self.dice.randrange(10**6)}"
        self._expect("ask another book", await self.line.post("/search", {"text": "any", "book_id": absent}), 404)
        self._expect("remove another book", await self.line.delete(f"/books/{absent}"), 404)


async def run_sequences(running: Running, count: int) -> tuple[int, list[str]]:
    """The number of sequences, and what went wrong in them."""
    answers: dict[str, str] = {}
    for question in QUESTIONS:
        answers[question] = (await running.line().post("/chat/run", {"message": question})).json["response"]
    found: list[str] = []

    async def run_some(line: Line, numbers: Any) -> None:
        for number in numbers:
            found.extend(await Sequence(line, random.Random(number), answers).run())

    async with asyncio.TaskGroup() as tasks:
        for first in range(AT_ONCE):
            tasks.create_task(run_some(running.line(), range(first, count, AT_ONCE)))
    return count, found
