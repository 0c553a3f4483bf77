"""Figure 8: memory and descriptors of a service that answers thousands of questions and ingests its book many times."""

import asyncio
import itertools
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median
from typing import Any
from uuid import uuid4

from tests.support.small_books import ASKS_NEAR, ASKS_NOTHING, ASKS_SERVICE, ASKS_TOPIC, LESSONS

from benchmarks.trust.figure import Figure, Measured, Ratio
from benchmarks.trust.service import BOOK, Line, Running, prepare, serving, temporary_folder
from bookwise.domain.threads import Thread, ThreadMessage
from bookwise.wiring import App

READERS = 4
INGESTS = 50  #: in the whole sample
INGESTS_MIN = 8  #: two for each quarter
TURNS_PER_SESSION = 10
MEMORY_MAX, DESCRIPTORS_MAX = 1.05, 1.0
LEAK_BYTES = 200_000
QUESTIONS = (ASKS_TOPIC, ASKS_SERVICE, ASKS_NOTHING, ASKS_NEAR)
EXAMPLES = 5


def leaking(app: App) -> App:
    """The control: each answer leaves memory and a descriptor behind."""
    return replace(app, threads=_Leaking(app.threads))  # type: ignore[arg-type]


class _Leaking:
    def __init__(self, threads: Any) -> None:
        self._threads = threads
        self._left: list[tuple[bytes, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._threads, name)

    async def finish(self, thread_id: str, answer: ThreadMessage, *, owner: str = "") -> Thread:
        self._left.append((os.urandom(LEAK_BYTES), os.open(os.devnull, os.O_RDONLY)))
        thread: Thread = await self._threads.finish(thread_id, answer, owner=owner)
        return thread


@dataclass(slots=True)
class Soak:
    """The service, its readers, and what was sampled after each ingest and the questions meanwhile."""

    running: Running
    root: Path
    turns: int = 0
    memory: list[int] = field(default_factory=list)  #: KiB
    descriptors: list[int] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    async def run(self, turns: int) -> None:
        lines = [self.running.line() for _ in range(READERS)]
        admin = self.running.line()
        blocks = max(INGESTS_MIN, INGESTS * turns // FIGURE.cases)
        per_reader = -(-turns // (blocks * READERS))
        for block in range(blocks):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._ingest(admin, block))
                for line in lines:
                    tasks.create_task(self._read(line, per_reader))
            self._sample()

    async def _read(self, line: Line, turns: int) -> None:
        questions = itertools.cycle(QUESTIONS)
        session = str(uuid4())
        for turn in range(turns):
            if turn % TURNS_PER_SESSION == 0:
                session = str(uuid4())
            path = "/chat/stream" if turn % 4 == 3 else "/chat/run"
            reply = await line.post(path, {"message": next(questions), "session_id": session})
            if reply.status != 200 or (turn % 4 == 3 and b"event: done" not in reply.body):
                self.failed.append(f"{path}: {reply.status} {reply.body[:200]!r}")
            self.turns += 1

    async def _ingest(self, line: Line, edition: int) -> None:
        (self.root / "edited.md").write_text(f"# Lathes\n\nThis lesson about lathes is edition {edition}.\n")
        started = await line.post("/ingestion/trigger", {"book_id": BOOK})
        job = await self.running.job(line, started.json["job_id"])
        if job["status"] != "completed":
            self.failed.append(f"job: {job}")

    def _sample(self) -> None:
        process = Path(f"/proc/{self.running.pid}")
        resident = re.search(r"VmRSS:\s+(\d+) kB", (process / "status").read_text())
        assert resident is not None
        self.memory.append(int(resident[1]))
        self.descriptors.append(len(list((process / "fd").iterdir())))


def quarters(samples: list[int]) -> tuple[list[int], list[int]]:
    """The second and the last quarter."""
    size = len(samples) // 4
    return samples[size : 2 * size], samples[-size:]


async def measure(cases: int, broken: bool) -> Measured:
    with temporary_folder() as folder:
        root, data, secret = await prepare(folder, LESSONS)
        async with serving(data, secret, change=leaking if broken else None) as running:
            soak = Soak(running, root)
            await soak.run(cases)
    (second, last), (before, after) = quarters(soak.memory), quarters(soak.descriptors)
    ratios = (
        Ratio(name="memory ratio", value=mean(last) / mean(second), at_most=MEMORY_MAX),
        Ratio(name="descriptor ratio", value=median(after) / median(before), at_most=DESCRIPTORS_MAX),
    )
    return Measured(cases=soak.turns, bad=len(soak.failed), ratios=ratios, examples=tuple(soak.failed[:EXAMPLES]))


FIGURE = Figure(
    number=8,
    name="soak",
    counts="questions in sessions, with 50 ingests meanwhile; bad: one that fails. The ratios compare the last quarter "
    "of the time with the second",
    cases=10_000,
    control="each answer leaves memory and a descriptor behind",
    control_cases=400,
    measure=measure,
)
