"""Figure 1: what the service has acknowledged is there after a SIGKILL and a restart."""

import asyncio
import itertools
import json
import os
import random
import re
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import anyio
from tests.support.small_books import ASKS_SERVICE, ASKS_TOPIC, LESSONS

from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.pushes import HOOK, deliver
from benchmarks.trust.service import BOOK, Change, Gone, Line, Running, prepare, serving, starting, temporary_folder
from bookwise.domain.threads import Thread, ThreadMessage
from bookwise.wiring import DATABASE_FILE, App

STEPS = (
    "threads.begin",
    "threads.finish",
    "journal.note",
    "journal.rate",
    "responses.claim",
    "responses.keep",
    "deliveries.keep",
    "keys.create",
    "jobs.open",
    "jobs.start",
    "index.stage",
    "catalog.activate",
    "index.remove",
    "jobs.finish",
)
KILLS_PER_STEP = 10
RANDOM_KILLS = 60
LATEST_CALL = 3  #: a kill comes at one of the first calls
LATEST_MOMENT = 0.8  #: seconds; a random kill comes before
STEP_SECONDS = 60.0
READERS = 3
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill at a named step, or at a random moment of the work or of the start."""

    step: str = ""
    when: str = "before"
    nth: int = 1
    moment: float = 0.0
    at_start: bool = False


def kills(count: int, dice: random.Random) -> list[Kill]:
    """Ten kills at each step and the random ones, in a random order. A kill of the start never follows another one:
    three in a row would make a job poison, as they should."""
    planned = [
        Kill(step=step, when=("before", "after")[number % 2], nth=dice.randint(1, LATEST_CALL))
        for step in STEPS
        for number in range(KILLS_PER_STEP)
    ]
    planned += [Kill(moment=dice.uniform(0, LATEST_MOMENT)) for _ in range(RANDOM_KILLS)]
    dice.shuffle(planned)
    at_random = [number for number, kill in enumerate(planned) if not kill.step][::4]
    for before, number in zip([-2, *at_random], at_random, strict=False):
        planned[number] = replace(planned[number], at_start=number > before + 1)
    return list(itertools.islice(itertools.cycle(planned), count))


@dataclass(frozen=True, slots=True)
class KillAt:
    """Makes the child end itself with SIGKILL at a call of a port, from when a file exists."""

    kill: Kill
    armed: Path

    def __call__(self, app: App) -> App:
        port, _, method = self.kill.step.partition(".")
        return replace(app, **{port: _Killer(getattr(app, port), method, self)})


class _Killer:
    def __init__(self, port: object, method: str, at: KillAt) -> None:
        self._port, self._method, self._at, self._calls = port, method, at, 0

    def __getattr__(self, name: str) -> Any:
        wrapped = getattr(self._port, name)
        return partial(self._call, wrapped) if name == self._method else wrapped

    async def _call(self, wrapped: Any, *args: Any, **options: Any) -> Any:
        self._calls += self._at.armed.exists()
        is_last = self._calls == self._at.kill.nth
        if is_last and self._at.kill.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return await wrapped(*args, **options)
        finally:
            if is_last:
                os.kill(os.getpid(), signal.SIGKILL)


def stored_later(app: App) -> App:
    """The control: an answer is acknowledged, and stored a second later."""
    return replace(app, threads=_LateThreads(app.threads))  # type: ignore[arg-type]


class _LateThreads:
    def __init__(self, threads: Any) -> None:
        self._threads = threads
        self._unstored: dict[str, asyncio.Task[Thread]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._threads, name)

    async def begin(self, thread_id: str, *args: Any, **options: Any) -> Any:
        if thread_id in self._unstored:
            await self._unstored[thread_id]
        return await self._threads.begin(thread_id, *args, **options)

    async def finish(
        self, thread_id: str, answer: ThreadMessage, *, owner: str = "", position: int | None = None
    ) -> Thread:
        thread: Thread = await self._threads.thread(thread_id, owner=owner)
        self._unstored[thread_id] = asyncio.create_task(self._later(thread_id, answer, owner, position))
        return thread

    async def _later(self, thread_id: str, answer: ThreadMessage, owner: str, position: int | None) -> Thread:
        await anyio.sleep(1)
        thread: Thread = await self._threads.finish(thread_id, answer, owner=owner, position=position)
        return thread


@dataclass(slots=True)
class Ledger:
    """What was acknowledged, by the id under which it can be found again."""

    turns: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    ratings: dict[str, str] = field(default_factory=dict)
    responses: dict[str, tuple[bytes, bytes]] = field(default_factory=dict)
    deliveries: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    jobs: list[int] = field(default_factory=list)
    edition: int = 0  #: of the edited lesson, at the last accepted delivery

    def add(self, other: "Ledger") -> None:
        self.turns |= other.turns
        self.ratings |= other.ratings
        self.responses |= other.responses
        self.deliveries += other.deliveries
        self.secrets += other.secrets
        self.jobs += other.jobs
        self.edition = max(self.edition, other.edition)

    def __len__(self) -> int:
        parts = (self.ratings, self.responses, self.deliveries, self.secrets, self.jobs)
        return sum(map(len, self.turns.values())) + sum(map(len, parts))


@dataclass(slots=True)
class Work:
    """Readers and an admin who use the service until it is gone, and note what it acknowledges."""

    running: Running
    root: Path
    editions: Iterator[int]
    noted: Ledger = field(default_factory=Ledger)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(READERS):
                tasks.create_task(self._until_gone(self._read()))
            tasks.create_task(self._until_gone(self._administer()))

    async def _until_gone(self, work: Any) -> None:
        with suppress(Gone):
            await work

    async def _read(self) -> None:
        line = self.running.line()
        for number in itertools.count():
            session = str(uuid4())
            for turn, question in enumerate((ASKS_TOPIC, ASKS_SERVICE)):
                asked = {"message": question, "session_id": session}
                key = str(uuid4())
                reply = await line.post("/chat/run", asked, **({"Idempotency-Key": f'"{key}"'} if turn else {}))
                assert reply.status == 200, reply
                answer = reply.json
                self.noted.turns.setdefault(session, []).append((question, answer["response"]))
                if turn:
                    self.noted.responses[key] = (json.dumps(asked).encode(), reply.body)
                thumb = ("up", "down")[number % 2]
                rated = await line.post("/feedback", {"answer_id": answer["answer_id"], "thumb": thumb})
                assert rated.status == 204, rated
                self.noted.ratings[answer["answer_id"]] = thumb

    async def _administer(self) -> None:
        line, operator = self.running.line(), self.running.operator()
        while True:
            self._edit()
            started = await line.post("/ingestion/trigger", {"book_id": BOOK})
            assert started.status in (202, 409), started
            if started.status == 202:
                self.noted.jobs.append(started.json["job_id"])
            created = await operator.post("/operator/CreateKey", NEW_KEY)
            assert created.status == 200, created
            self.noted.secrets.append(created.json["secret"])
            edition = self._edit()
            delivery = f"delivery-{edition}"
            outcome = await deliver(line, delivery)
            assert outcome == "accepted", outcome
            self.noted.deliveries.append(delivery)
            self.noted.edition = edition
            await settled(line)

    def _edit(self) -> int:
        """Writes the next edition of a lesson."""
        edition = next(self.editions)
        (self.root / "edited.md").write_text(f"# Lathes\n\nThis lesson about lathes is edition {edition}.\n")
        return edition


NEW_KEY = {"name": "a reader", "role": "reader", "books": [], "origins": [], "rate_per_minute": 100}


async def lost(ledger: Ledger, running: Running) -> list[str]:
    """What the ledger has and the service has not."""
    line = running.line()
    stored = await anyio.to_thread.run_sync(_ratings, running.data)
    found = [f"rating of {answer}" for answer, thumb in ledger.ratings.items() if stored.get(answer) != thumb]
    found += await _lost_answers(ledger, line)
    for secret in ledger.secrets:
        if (await running.line(secret).get("/books")).status != 200:
            found.append("a key")
    for job_id in ledger.jobs:
        if (job := await running.job(line, job_id))["status"] != "completed":
            found.append(f"job {job_id}: {job['status']}, {job['error_message']}")
    return found + await _lost_pushes(ledger, line)


async def _lost_answers(ledger: Ledger, line: Line) -> list[str]:
    found: list[str] = []
    for session, turns in ledger.turns.items():
        found += _missing_turns(session, turns, await line.get(f"/session/{session}/history"))
    for key, (body, response) in ledger.responses.items():
        reply = await line.post("/chat/run", body, **{"Idempotency-Key": f'"{key}"'})
        if reply.body != response or not reply.is_replayed:
            found.append(f"response of key {key}: {reply.status}")
    return found


async def _lost_pushes(ledger: Ledger, line: Line) -> list[str]:
    found: list[str] = []
    for delivery in ledger.deliveries:
        if (outcome := await deliver(line, delivery)) != "duplicate":
            found.append(f"{delivery}: {outcome}")
    await settled(line)
    if (edition := await live_edition(line)) < ledger.edition:
        found.append(f"the push of edition {ledger.edition}: readers see edition {edition}")
    return found


async def settled(line: Line) -> None:
    """Waits until no job is open."""
    async with asyncio.timeout(STEP_SECONDS):
        while (await line.get("/ingestion/jobs?limit=1")).json["jobs"][0]["completed_at"] is None:  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def live_edition(line: Line) -> int:
    """The edition of the edited lesson that readers see; 0 before its first."""
    hits = (await line.post("/search", {"text": "This lesson about lathes"})).json["results"]
    found = [int(edition) for hit in hits for edition in re.findall(r"lathes is edition (\d+)", json.dumps(hit))]
    return max(found, default=0)


def _missing_turns(session: str, turns: list[tuple[str, str]], reply: Any) -> Iterator[str]:
    if reply.status != 200:
        yield f"session {session}: {reply.status}"
        return
    messages = reply.json["messages"]
    for number, (question, answer) in enumerate(turns):
        pair = messages[2 * number : 2 * number + 2]
        texts = [message["content"] for message in pair]
        if texts != [question, answer.strip()] or not all(message.get("complete", True) for message in pair):
            yield f"turn {number} of session {session}"
    if len(messages) > 2 * len(turns) + 2:
        yield f"session {session} has {len(messages)} messages after {len(turns)} turns"


def _ratings(data: Path) -> dict[str, str]:
    with closing(sqlite3.connect(f"file:{quote(str(data / DATABASE_FILE))}?mode=ro", uri=True)) as database:
        rows = database.execute("SELECT answer_id, thumb FROM asked_questions WHERE thumb IS NOT NULL").fetchall()
    return {str(UUID(answer)): thumb for answer, thumb in rows}


@dataclass(slots=True)
class Scene:
    """The data folder through all kills, and what was acknowledged."""

    root: Path
    data: Path
    secret: str
    broken: bool
    kills: int = 0
    editions: Iterator[int] = field(default_factory=partial(itertools.count, 1))
    acknowledged: Ledger = field(default_factory=Ledger)
    unchecked: Ledger = field(default_factory=Ledger)
    found: list[str] = field(default_factory=list)

    async def kill(self, kill: Kill) -> None:
        armed = self.data.parent / "armed"
        armed.unlink(missing_ok=True)
        if kill.at_start:
            await self._kill_start(kill)
            return
        change: Change | None = KillAt(kill, armed) if kill.step else stored_later if self.broken else None
        async with serving(self.data, self.secret, change=change, **HOOK) as running:
            await self.check(running)
            work = Work(running, self.root, self.editions)
            armed.touch()
            task = asyncio.create_task(work.run())
            if not kill.step:
                await asyncio.sleep(kill.moment)
                running.kill()
            await asyncio.wait([task], timeout=STEP_SECONDS)
            assert task.done(), f"{kill} was never reached: {running.last_messages}"
            await task
            running.child.process.join(STEP_SECONDS)  # its connections end a moment earlier
            assert running.child.process.exitcode == -signal.SIGKILL, f"{kill}: {running.last_messages}"
            self.kills += 1
            self.unchecked = work.noted

    async def _kill_start(self, kill: Kill) -> None:
        with starting(self.data, embedder="hashing", **HOOK) as (process, _):
            await asyncio.sleep(kill.moment)
            process.process.kill()
            process.process.join()
        self.kills += 1

    async def check(self, running: Running) -> None:
        """Looks for everything that was acknowledged before the last kill."""
        self.found += await lost(self.unchecked, running)
        self.acknowledged.add(self.unchecked)
        self.unchecked = Ledger()

    async def check_all(self) -> None:
        async with serving(self.data, self.secret, **HOOK) as running:
            await self.check(running)
            self.found += await lost(self.acknowledged, running)


async def measure(cases: int, broken: bool) -> Measured:
    dice = random.Random(1)
    planned = kills(cases, dice) if not broken else [Kill(moment=LATEST_MOMENT)] * cases
    with temporary_folder() as folder:
        root, data, secret = await prepare(folder, LESSONS)
        scene = Scene(root, data, secret, broken)
        for kill in planned:
            await scene.kill(kill)
        await scene.check_all()
    bad = list(dict.fromkeys(scene.found))
    if len(scene.acknowledged) < scene.kills:
        raise RuntimeError(f"only {len(scene.acknowledged)} effects were acknowledged in {scene.kills} runs")
    return Measured(cases=scene.kills, bad=len(bad), examples=tuple(bad[:EXAMPLES]))


FIGURE = Figure(
    number=1,
    name="acknowledged losses",
    counts="SIGKILLs of the service, ten at each of 14 steps and 60 at random; bad: an acknowledged answer, rating, "
    "response, key, job or push that is gone",
    cases=len(STEPS) * KILLS_PER_STEP + RANDOM_KILLS,
    control="answers are stored a second after they were sent",
    control_cases=5,
    measure=measure,
)
