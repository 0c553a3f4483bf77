"""Figure 2: readers see a lesson as it was or as it is, also while an ingest stands still between two steps or is
killed there. A killed ingest ends where an undisturbed one would."""

import asyncio
import itertools
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from tests.support.apps import hashing_app, write_book
from tests.support.ingest_child import activate_first

from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.service import BOOK, Line, Running, prepare, serving, temporary_folder
from bookwise.ingestion import pipeline
from bookwise.ingestion.doctor import examine
from bookwise.wiring import App

#: The calls of an ingest that change something. An ingest stands still before and after each of them.
STEPS = {
    "jobs": ("start", "progress", "finish"),
    "vectors": ("remember",),
    "index": ("stage", "remove"),
    "catalog": ("register", "activate", "withdraw", "mark_ingested"),
}
LESSONS = 6
CHANGED = 3  #: lessons that an edit changes; it also adds one and removes one
PARTS = 3
BATCH_CHUNKS = 4  #: several batches for a small book
LATEST_KILL = 30  #: about the number of windows in an ingest
EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class StandStill:
    """Makes every ingest of the child wait before and after each step, until its window is closed from outside."""

    windows: Path
    broken: bool

    def __call__(self, app: App) -> App:
        pipeline.BATCH_CHUNKS = BATCH_CHUNKS
        if self.broken:
            pipeline.publish = activate_first  # type: ignore[attr-defined, assignment]
        numbers = itertools.count()
        ports = {name: _Halting(getattr(app, name), name, self.windows, numbers) for name in STEPS}
        return replace(app, **ports)  # type: ignore[arg-type]


class _Halting:
    """A port whose changing calls have a window before and after them: a file that the parent removes."""

    def __init__(self, port: object, name: str, windows: Path, numbers: Any) -> None:
        self._port, self._name, self._windows, self._numbers = port, name, windows, numbers

    def __getattr__(self, name: str) -> Any:
        wrapped = getattr(self._port, name)
        return partial(self._call, name, wrapped) if name in STEPS[self._name] else wrapped

    async def _call(self, name: str, wrapped: Any, *args: Any, **options: Any) -> Any:
        await self._halt(f"before-{self._name}.{name}")
        result = await wrapped(*args, **options)
        await self._halt(f"after-{self._name}.{name}")
        return result

    async def _halt(self, where: str) -> None:
        window = self._windows / f"{next(self._numbers):05}-{where}"
        window.touch()
        while window.exists():  # noqa: ASYNC110 - another process closes it
            await anyio.sleep(0.001)


def lesson_text(number: int, edition: int) -> str:
    words = " ".join(f"Edition {edition} tells fact {n} about joint {number}." for n in range(12))
    sections = "\n\n".join(f"## Part {part}\n\n{words} Part {part}." for part in range(PARTS))
    return f"# Lesson {number}\n\n{sections}\n"


def file_of(number: int) -> str:
    return f"lesson-{number:02}.md"


Editions = dict[str, int]  #: of each lesson that there is


@dataclass(frozen=True, slots=True)
class Look:
    """What readers see of the book at one moment."""

    lessons: Mapping[str, tuple[int, ...]]  #: the edition of each chunk, by file
    found: Mapping[str, frozenset[int]]  #: the editions that a search shows, by file

    def faults(self, old: Editions, new: Editions, chunks: int) -> list[str]:
        """How this differs from the old lessons and the new ones."""
        faults = []
        for file in old.keys() | new.keys():
            allowed = [() if state.get(file) is None else (state[file],) * chunks for state in (old, new)]
            if self.lessons.get(file, ()) not in allowed:
                faults.append(f"{file}: {self.lessons.get(file, ())}, allowed are {allowed}")
            if not self.found.get(file, frozenset()) <= set(self.lessons.get(file, ())):
                faults.append(f"{file}: a search shows {set(self.found[file])}, its reader {self.lessons.get(file)}")
        return faults


@dataclass(slots=True)
class Scene:
    """The book, its editions, and the probes so far."""

    root: Path
    data: Path
    secret: str
    broken: bool
    windows: Path
    chunks: int = 0
    ids: dict[str, str] = field(default_factory=dict)
    probes: int = 0
    kills: int = 0
    found: list[str] = field(default_factory=list)

    def service(self) -> Any:
        for window in self.windows.iterdir():
            window.unlink()
        return serving(self.data, self.secret, change=StandStill(self.windows, self.broken))

    async def look(self, line: Line) -> Look:
        lessons: dict[str, tuple[int, ...]] = {}
        for file, lesson_id in self.ids.items():
            reply = await line.get(f"/lesson/{lesson_id}")
            assert reply.status in (200, 404), reply
            if reply.status == 200:
                lessons[file] = tuple(edition_in(chunk["text"]) for chunk in reply.json["chunks"])
        hits = (await line.post("/search", {"text": "Edition tells a fact about a joint", "limit": 20})).json["results"]
        by_file: dict[str, set[int]] = {}
        for hit in hits:
            by_file.setdefault(hit["source_file"], set()).add(edition_in(hit["text"]))
        return Look(lessons, {file: frozenset(editions) for file, editions in by_file.items()})

    async def probe(self, line: Line, old: Editions, new: Editions) -> None:
        """One look at the book. While an ingest stands still, nothing changes between its requests."""
        window = min(self.windows.iterdir()).name
        faults = (await self.look(line)).faults(old, new, self.chunks)
        self.probes += 1
        self.found += [f"{window}: {fault}" for fault in faults]

    async def follow(self, running: Running, line: Line, job_id: int, old: Editions, new: Editions, kill: int) -> bool:
        """Probes in each window of the job; whether it was killed in a window."""
        for number in itertools.count():
            while not (opened := sorted(self.windows.iterdir())):
                if (await line.get(f"/ingestion/status/{job_id}")).json["job"]["completed_at"]:
                    return False
                await asyncio.sleep(0.002)
            await self.probe(line, old, new)
            if number == kill:
                running.kill()
                self.kills += 1
                return True
            opened[0].unlink()
        raise AssertionError

    async def converged(self, new: Editions) -> None:
        """Checks the end state: the new lessons and nothing else, for readers and in the index."""
        async with hashing_app(self.data) as app:
            findings = await examine(BOOK, index=app.index, catalog=app.catalog)
            self.found += [f"after the restart: {finding.message}" for finding in findings]
            records = await app.catalog.records(BOOK)
            stored = await app.index.revisions(BOOK)
        if sum(stored.values()) != sum(record.chunk_count for record in records):
            self.found.append(f"after the restart: {stored} is more or less than what is live")
        if {record.source_file for record in records} != set(new):
            self.found.append(f"after the restart: {len(records)} lessons instead of {len(new)}")


def edition_in(text: str) -> int:
    """The edition that a chunk tells of; -1 when it tells of several."""
    editions = {int(edition) for edition in re.findall(r"Edition (\d+)", text)}
    return editions.pop() if len(editions) == 1 else -1


def edited(root: Path, old: Editions, edition: int, dice: random.Random) -> Editions:
    """Changes three lessons, removes one and adds one, on disk; returns the new editions."""
    present = sorted(old)
    gone, *changed = dice.sample(present, CHANGED + 1)
    added = next(file for file in map(file_of, range(LESSONS + 2)) if file not in old)
    (root / gone).unlink()
    new = {file: number for file, number in old.items() if file != gone} | dict.fromkeys([*changed, added], edition)
    write_book(root, {file: lesson_text(int(file[7:9]), edition) for file in [*changed, added]})
    return new


async def ingest_with_probes(scene: Scene, old: Editions, edition: int, dice: random.Random) -> Editions:
    new = edited(scene.root, old, edition, dice)
    kill = dice.randrange(LATEST_KILL)
    async with scene.service() as running:
        line = running.line()
        job_id = (await line.post("/ingestion/trigger", {"book_id": BOOK})).json["job_id"]
        was_killed = await scene.follow(running, line, job_id, old, new, kill)
    if was_killed:
        async with scene.service() as running:
            line = running.line()
            await scene.follow(running, line, job_id, old, new, -1)
            look = await scene.look(line)
            scene.found += [f"after the restart: {fault}" for fault in look.faults(new, new, scene.chunks)]
    if not scene.broken:
        await scene.converged(new)
    return new


async def learn(scene: Scene) -> None:
    """The ids of all lessons that there will be, and the number of chunks of each."""
    async with hashing_app(scene.data) as app:
        records = await app.catalog.records(BOOK)
    scene.ids = {record.source_file: record.lesson_id for record in records}
    (scene.chunks,) = {record.chunk_count for record in records}


async def measure(cases: int, broken: bool) -> Measured:
    dice = random.Random(2)
    with temporary_folder() as folder:
        every = {file_of(number): lesson_text(number, 0) for number in range(LESSONS + 2)}
        root, data, secret = await prepare(folder, every)
        scene = Scene(root, data, secret, broken, folder / "windows")
        scene.windows.mkdir()
        await learn(scene)
        editions = dict.fromkeys(every, 0)
        (root / file_of(LESSONS + 1)).unlink()
        async with serving(data, secret) as running:
            line = running.line()
            await running.job(line, (await line.post("/ingestion/trigger", {"book_id": BOOK})).json["job_id"])
        del editions[file_of(LESSONS + 1)]
        for edition in itertools.count(1):
            editions = await ingest_with_probes(scene, editions, edition, dice)
            if scene.probes >= cases:
                break
    return Measured(cases=scene.probes, bad=len(scene.found), examples=tuple(scene.found[:EXAMPLES]))


FIGURE = Figure(
    number=2,
    name="atomicity",
    counts="looks at the whole book while an ingest stands still before or after a step, or has been killed there; "
    "bad: a lesson that is neither the old nor the new one, or a state that does not converge after the restart",
    cases=500,
    control="the catalog is switched before the chunks are stored",
    control_cases=20,
    measure=measure,
)
