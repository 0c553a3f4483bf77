"""Figure 3: readers search while the book is ingested again and again, with the default embedder."""

import asyncio
import itertools
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import anyio

from benchmarks.serve import QUESTIONS, SAMPLE, p95
from benchmarks.trust.figure import Figure, Measured, Ratio
from benchmarks.trust.service import BOOK, Line, Running, ingest_with_key, serving, temporary_folder
from bookwise.domain.books import EmbedderFacts, Vector
from bookwise.settings import Settings
from bookwise.wiring import App

READERS = 2
ROUNDS = 5
WARM_UP = 40  #: queries before anything is measured
SLOWER_MAX = 3.0  #: p95 during an ingest, compared with p95 without one
EXAMPLES = 5
EMBEDDER = "minilm"


def blocking(app: App) -> App:
    """The control: the event loop waits while a batch of lessons is embedded."""
    return replace(app, embedder=_Blocking(app.embedder))


class _Blocking:
    def __init__(self, embedder: Any) -> None:
        self._embedder = embedder
        self._thread = ThreadPoolExecutor(1)

    @property
    def facts(self) -> EmbedderFacts:
        facts: EmbedderFacts = self._embedder.facts
        return facts

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        vectors: list[Vector] = self._thread.submit(anyio.run, self._embedder.embed_texts, texts).result()
        return vectors

    async def embed_query(self, text: str) -> Vector:
        vector: Vector = await self._embedder.embed_query(text)
        return vector


@dataclass(slots=True)
class Readers:
    """Queries by a few readers at once, how long each took, and which failed."""

    running: Running
    expected: dict[str, str] = field(default_factory=dict)  #: the file that answers a question
    failed: list[str] = field(default_factory=list)

    async def learn(self) -> None:
        line = self.running.line()
        for question in QUESTIONS:
            reply = await line.post("/search", {"text": question})
            self.expected[question] = reply.json["results"][0]["source_file"]

    async def query(self, count: int, counts: asyncio.Event | None = None) -> list[float]:
        """Seconds per query. With `counts`, only what begins and ends while it is set is counted."""
        seconds: list[float] = []

        async def read(line: Line, questions: Any) -> None:
            while len(seconds) < count:
                if counts is not None:
                    await counts.wait()
                took = await self._ask(line, next(questions))
                if counts is None or counts.is_set():
                    seconds.append(took)

        async with asyncio.TaskGroup() as tasks:
            for number in range(READERS):
                tasks.create_task(read(self.running.line(), itertools.cycle(QUESTIONS[number:] + QUESTIONS[:number])))
        return seconds[:count]

    async def _ask(self, line: Line, question: str) -> float:
        began = time.perf_counter()
        reply = await line.post("/search", {"text": question})
        took = time.perf_counter() - began
        files = [hit["source_file"] for hit in reply.json["results"]] if reply.status == 200 else []
        if self.expected[question] not in files:
            self.failed.append(f"{question} → {reply.status}, {files}")
        return took


@dataclass(slots=True)
class Author:
    """Edits every lesson and ingests the book, again and again. Nothing is taken from the cache."""

    running: Running
    root: Path
    editions: Iterator[int] = field(default_factory=partial(itertools.count, 1))
    is_ingesting: asyncio.Event = field(default_factory=asyncio.Event)
    stops: bool = False  #: after the job that runs
    jobs: list[dict[str, Any]] = field(default_factory=list)

    async def run(self) -> None:
        line = self.running.line()
        self.stops = False
        while not self.stops:
            edit(self.root, next(self.editions))
            started = await line.post("/ingestion/trigger", {"book_id": BOOK, "mode": "recreate"})
            self.is_ingesting.set()
            job = await self.running.job(line, started.json["job_id"])
            self.is_ingesting.clear()
            self.jobs.append(job)


def edit(root: Path, edition: int) -> None:
    for lesson in (root / "docs").rglob("*.md*"):
        text = lesson.read_text().partition("\nThis is edition ")[0]
        lesson.write_text(f"{text}\nThis is edition {edition} of the lesson.\n")


async def alternate(readers: Readers, author: Author, cases: int) -> tuple[list[float], list[float]]:
    """Seconds per query without an ingest and during one, in turns: what else the machine does concerns both alike."""
    alone: list[float] = []
    beside: list[float] = []
    while len(beside) < cases:
        count = -(-cases // ROUNDS)
        alone += await readers.query(count)
        ingesting = asyncio.create_task(author.run())
        beside += await readers.query(count, author.is_ingesting)
        author.stops = True
        await ingesting
    return alone, beside


def at_any_moment(seconds: Sequence[float], interval: float) -> list[float]:
    """The waits of readers who come at any moment, one per interval.

    A reader who waits sends no other query, so a service that stands still for a second would count as one slow query
    among hundreds of fast ones. This adds the queries that would have come meanwhile.
    """
    return [wait - passed * interval for wait in seconds for passed in range(math.ceil(wait / interval))]


async def measure(cases: int, broken: bool) -> Measured:
    with temporary_folder() as folder:
        root, data = folder / "book", folder / "data"
        shutil.copytree(SAMPLE, root)
        secret = await ingest_with_key(root, Settings(data_dir=data, embedder=EMBEDDER))
        change = blocking if broken else None
        async with serving(data, secret, change=change, embedder=EMBEDDER) as running:
            readers, author = Readers(running), Author(running, root)
            await readers.learn()
            await readers.query(WARM_UP)
            alone, beside = await alternate(readers, author, cases)
    readers.failed += [f"job: {job}" for job in author.jobs if job["status"] != "completed"]
    usual = median(alone)
    waits = p95(at_any_moment(alone, usual)), p95(at_any_moment(beside, usual))
    return Measured(
        cases=len(beside),
        bad=len(readers.failed),
        ratios=(Ratio(name="p95 ratio", value=waits[1] / waits[0], at_most=SLOWER_MAX),),
        examples=(
            f"p95 {waits[0] * 1e3:.1f} ms alone, {waits[1] * 1e3:.1f} ms during an ingest, "
            f"{len(author.jobs)} ingests, longest wait {max(beside) * 1e3:.0f} ms",
            *readers.failed[:EXAMPLES],
        ),
    )


FIGURE = Figure(
    number=3,
    name="ingest while serving",
    counts="searches during ingests that embed the whole sample book; bad: one that fails or misses its lesson. "
    "The ratio compares the waits of readers who come at any moment with those without an ingest",
    cases=2_000,
    control="embedding a batch blocks the event loop",
    control_cases=400,  # fewer are over before the first batch is embedded
    measure=measure,
)
