"""Damages the files of a data folder at random and counts the answers that are wrong without a word.

    python -m benchmarks.storage_faults [--cases 380] [--seed 1]

Each case copies a healthy folder, damages one file, reads everything that readers get from it, and runs the doctor.
It ends in one of four ways:

- right: everything is as before;
- reported: what differs is an error of Bookwise, or the doctor finds the damage;
- crashed: a process ended without an error of Bookwise;
- silent: something differs and nothing says so. There must be none.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeAlias

import anyio

from bookwise.adapters.sparse_files import BLOCK_BYTES
from bookwise.domain.errors import BookwiseError
from bookwise.domain.search import Filter, SearchQuery
from bookwise.domain.threads import ThreadMessage
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.operations.doctor import DiagnoseBooks, check_files
from bookwise.retrieval import read
from bookwise.retrieval.search import search
from bookwise.settings import Settings
from bookwise.wiring import App, open_app

BOOK = "book"
SAMPLE = Path(__file__).parents[1] / "examples" / "physical-ai"
QUESTIONS = (
    "What is a ROS 2 node?",
    "How do topics differ from services?",
    "Which sensor measures distance?",
    "How is a robot simulated in Gazebo?",
    "What does the planner do with a command?",
)
TURNS = 40  #: more than a thread keeps in its row, so that some messages are archived
SECTOR_BYTES = 512
KINDS = ("flip", "truncate", "zero")
#: Where a case strikes. Chosen by area, because most files of an index hold little that readers see.
AREAS = ("bookwise.db", "payload_storage/", "vector_storage-dense/", "vector_storage-words/", "payload_index/", "")

_CRASH = "crash"

Verdict: TypeAlias = Literal["right", "reported", "crashed", "silent"]
Values: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCase:
    """One damaged file, and how it ended."""

    number: int
    kind: str
    file: str
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultReport:
    """All cases of a run."""

    cases: tuple[FaultCase, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(case.verdict == verdict for case in self.cases)


def run_storage_faults(
    cases: int, *, seed: int = 1, on_case: Callable[[FaultCase], None] = lambda case: None
) -> FaultReport:
    """Runs this number of cases in a process of their own. The same seed gives the same cases."""
    command = [sys.executable, "-m", __spec__.name, "--json", f"--cases={cases}", f"--seed={seed}"]
    done: list[FaultCase] = []
    with subprocess.Popen(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            done.append(FaultCase(**json.loads(line)))
            on_case(done[-1])
    if process.returncode or len(done) != cases:
        raise RuntimeError(f"{len(done)} of {cases} cases ended; exit code {process.returncode}")
    return FaultReport(cases=tuple(done))


def _run_here(cases: int, seed: int) -> Iterator[FaultCase]:
    # In memory where possible: hundreds of copies are opened and closed, and nothing has to survive.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bookwise-faults-", dir=memory) as name:
        folder = Path(name)
        healthy = folder / "healthy"
        anyio.run(_prepare, healthy, folder / "book")
        copy_sparse(healthy, folder / "data")
        expected = _in_process(observe, folder / "data")
        if expected is None or _CRASH in expected:
            raise RuntimeError(f"The healthy folder cannot be read: {expected}")
        for number in range(cases):
            yield _run_case(number, Random(f"{seed}-{number}"), healthy, folder / "data", expected)


def _run_case(number: int, random: Random, healthy: Path, data: Path, expected: Values) -> FaultCase:
    shutil.rmtree(data)
    copy_sparse(healthy, data)
    kind = KINDS[number % len(KINDS)]
    file = _damage(data, kind, AREAS[number // len(KINDS) % len(AREAS)], random)
    found = _in_process(observe, data)
    diagnosis = _in_process(diagnose, data)
    verdict, detail = _judge(found, expected, diagnosis)
    return FaultCase(number=number, kind=kind, file=str(file.relative_to(data)), verdict=verdict, detail=detail)


def _judge(found: Values | None, expected: Values, diagnosis: Values | None) -> tuple[Verdict, str]:
    for name, result in (("reading", found), ("doctor", diagnosis)):
        if result is None or _CRASH in result:
            return "crashed", f"{name}: {result[_CRASH] if result else 'killed'}"
    assert found is not None
    assert diagnosis is not None
    differing = [name for name in expected if found.get(name) != expected[name]]
    if not differing:
        return "right", ""
    unexplained = [name for name in differing if not _is_error(found.get(name))]
    if unexplained and diagnosis["healthy"]:
        return "silent", ", ".join(unexplained)
    return "reported", diagnosis["detail"] or ", ".join(differing)


def _is_error(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("error: ")


async def _prepare(data: Path, book: Path) -> None:
    lessons = sorted(SAMPLE.rglob("*.md"))[:12]
    for lesson in lessons:
        target = book / lesson.relative_to(SAMPLE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(lesson, target)
    async with open_app(_settings(data)) as app:
        await ingest(discover(book, book_id=BOOK), book, app.ingestion_kit)
        thread = await app.threads.create(book_id=BOOK)
        for turn in range(TURNS):
            begun = await app.threads.begin(thread.id, f"Question {turn}: why does the robot stop?")
            answer = ThreadMessage(
                role="assistant", content=f"Answer {turn}.", timestamp=begun.updated_at, confidence=0.7
            )
            await app.threads.finish(thread.id, answer)


def _settings(data: Path) -> Settings:
    return Settings(data_dir=data, embedder="hashing")


async def observe(data: Path) -> Values:
    """Everything that readers get from a data folder, by name; an error of Bookwise as text."""
    found: Values = {}
    try:
        async with open_app(_settings(data)) as app:
            for name, look in _observations(app, data).items():
                try:
                    found[name] = await look()
                except BookwiseError as error:
                    found[name] = f"error: {error.code}"
    except BookwiseError as error:
        return dict.fromkeys(_NAMES, f"error: {error.code}")
    return json.loads(json.dumps(found, default=str))  # type: ignore[no-any-return]


_NAMES = ("books", "lessons", "searches", "texts", "threads", "history", "vectors")


def _observations(app: App, data: Path) -> dict[str, Callable[[], Any]]:
    async def books() -> list[str]:
        return [repr(book) for book in await app.catalog.books()]

    async def lessons() -> list[str]:
        return [repr(record) for record in await app.catalog.records(BOOK)]

    async def searches() -> list[list[str]]:
        within = Filter(book_id=BOOK)
        results = [await search(SearchQuery(text=text, filter=within, limit=10), app.search_kit) for text in QUESTIONS]
        return [[f"{hit.score:.4f} {hit.chunk!r}" for hit in result.hits] for result in results]

    async def texts() -> list[list[str]]:
        records = await app.catalog.records(BOOK)
        read_all = [await read.lesson(BOOK, r.lesson_id, index=app.index, catalog=app.reader) for r in records]
        return [list(map(repr, chunks)) for chunks in read_all]

    async def threads() -> list[str]:
        return [repr(thread) for thread in await app.threads.threads()]

    async def history() -> list[str]:
        (thread,) = await app.threads.threads()
        return [repr(message) for message in await app.threads.history(thread.id)]

    async def vectors() -> str:
        """Only whether a stored vector is wrong: one that is left out is computed again."""
        stored = await app.vectors.recall(app.embedder.facts.fingerprint, _text_hashes(data))
        embedded = (
            json.loads((data.parent / "vectors.json").read_text()) if (data.parent / "vectors.json").exists() else {}
        )
        if not embedded:
            (data.parent / "vectors.json").write_text(json.dumps(stored))
        wrong = [name for name in stored if name in embedded and list(stored[name]) != embedded[name]]
        return f"{len(wrong)} wrong"

    looks = (books, lessons, searches, texts, threads, history, vectors)
    return {look.__name__: look for look in looks}


def _text_hashes(data: Path) -> list[str]:
    with closing(sqlite3.connect(data / "bookwise.db")) as connection:
        connection.text_factory = lambda raw: raw.decode(errors="replace")
        try:
            return [str(row[0]) for row in connection.execute("SELECT text_hash FROM embeddings")]
        except sqlite3.DatabaseError:
            return []


async def diagnose(data: Path) -> Values:
    """What `bookwise doctor` says about a data folder."""
    try:
        files = await check_files(_settings(data), repair=False)
        async with open_app(_settings(data)) as app:
            report = await DiagnoseBooks(repair=False, storage=files.problems).run(app)
    except BookwiseError as error:
        return {"healthy": False, "detail": f"error: {error.code}"}
    problems = [*report.storage, *(finding.message for book in report.books for finding in book.findings)]
    return {"healthy": report.healthy, "detail": "; ".join(problems[:2])}


def _damage(data: Path, kind: str, area: str, random: Random) -> Path:
    """Damages one file of the area that holds something, and half of the time keeps its time of change."""
    everything = sorted(path for path in data.rglob("*") if path.is_file() and path.name != "lock")
    candidates = [path for path in everything if area in str(path.relative_to(data)) and _blocks(path)]
    path = random.choice(candidates)
    before = path.stat()
    with path.open("r+b", buffering=0) as file:
        if kind == "truncate":
            file.truncate(random.randrange(before.st_size))
        else:
            _overwrite(file.fileno(), kind, _place(path, random), random)
    if random.random() < 0.5:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return path


def _overwrite(handle: int, kind: str, place: int, random: Random) -> None:
    if kind == "zero":
        start = place - place % SECTOR_BYTES
        size = min(SECTOR_BYTES, os.fstat(handle).st_size - start)
        os.pwrite(handle, bytes(size), start)
    else:
        (byte,) = os.pread(handle, 1, place)
        os.pwrite(handle, bytes([byte ^ (1 << random.randrange(8))]), place)


def _place(path: Path, random: Random) -> int:
    """A byte in a part of the file that is not all zeros."""
    start, block = random.choice(_blocks(path))
    used = [offset for offset in range(0, len(block), 64) if any(block[offset : offset + 64])]
    return start + min(random.choice(used) + random.randrange(64), len(block) - 1)


def _blocks(path: Path) -> list[tuple[int, bytes]]:
    with path.open("rb", buffering=0) as file:
        return [(start, block) for start, block in _written(file.fileno()) if block.count(0) != len(block)]


def _written(handle: int) -> Iterator[tuple[int, bytes]]:
    offset, size = 0, os.fstat(handle).st_size
    while offset < size:
        try:
            offset = os.lseek(handle, offset, os.SEEK_DATA)
        except OSError:
            return
        offset -= offset % BLOCK_BYTES
        yield offset, os.pread(handle, BLOCK_BYTES, offset)
        offset += BLOCK_BYTES


def copy_sparse(source: Path, target: Path) -> None:
    """Copies a folder with the times of its files, and leaves holes unwritten."""

    def copy(one: str, other: str) -> None:
        with open(one, "rb", buffering=0) as reader, open(other, "wb", buffering=0) as writer:
            writer.truncate(os.fstat(reader.fileno()).st_size)
            for offset, block in _written(reader.fileno()):
                os.pwrite(writer.fileno(), block, offset)
        shutil.copystat(one, other)

    shutil.copytree(source, target, copy_function=copy)


def _in_process(work: Callable[[Path], Any], data: Path) -> Values | None:
    """The result of an async function in a process of its own; None if that ended without one.

    This process has no threads and has loaded everything, so a fork is safe and takes no time.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())  # the engine writes its panics there
        try:
            os.write(writer, _result(work, data))
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        result = stream.read()
    os.waitpid(child, 0)
    return json.loads(result) if result else None


def _result(work: Callable[[Path], Any], data: Path) -> bytes:
    try:
        return json.dumps(anyio.run(work, data)).encode()
    except Exception:  # noqa: BLE001 - anything but an error of Bookwise is what these cases look for
        return json.dumps({_CRASH: traceback.format_exc()[-800:]}).encode()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=380)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="one line of JSON per case, and no table")
    options = parser.parse_args(arguments)
    if options.json:
        for case in _run_here(options.cases, options.seed):
            print(json.dumps(asdict(case)), flush=True)
        return 0

    def show(case: FaultCase) -> None:
        if case.verdict in ("silent", "crashed"):
            print(f"{case.verdict}: case {case.number}, {case.kind} in {case.file}: {case.detail}", flush=True)

    report = run_storage_faults(options.cases, seed=options.seed, on_case=show)
    by_kind = Counter((case.kind, case.verdict) for case in report.cases)
    print(f"{'':10}" + "".join(f"{verdict:>10}" for verdict in ("right", "reported", "crashed", "silent")))
    for kind in KINDS:
        counts = "".join(f"{by_kind[kind, verdict]:10}" for verdict in ("right", "reported", "crashed", "silent"))  # type: ignore[index]
        print(f"{kind:10}{counts}")
    return 1 if report.count("silent") else 0


if __name__ == "__main__":
    raise SystemExit(main())
