"""How search, memory, start and ingest grow with the number of books and chunks, in the process and on a Qdrant server.

python -m benchmarks.scale [--books 1 20 200] [--chunks 5000 40000] [--qdrant-url URL [--server-only]]

Vectors are mixed from real ones, and words are those of real texts. Each row is measured in a process of its own. The
index alone is measured; the embedding of a question, from the same run, is the unit to compare it with. CPU time is
that of this process, without the work of a server. The optimizer of a server rests while the index is filled, works
again for the last chunks, whose speed is measured, and has finished before the searches.
"""

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import anyio
import numpy as np

from benchmarks.search import questions, sample_lessons
from bookwise.adapters.qdrant.embedded import open_index
from bookwise.domain.books import Chunk, EmbeddedChunk
from bookwise.domain.search import Filter
from bookwise.ingestion.pipeline import BATCH_CHUNKS
from bookwise.ingestion.stages import utc_now
from bookwise.operations.doctor import EMBEDDED_CHUNKS_MAX
from bookwise.ports import LessonIndex
from bookwise.retrieval.fuse import CANDIDATES_MIN
from bookwise.settings import load_settings
from bookwise.wiring import open_embedder

T = TypeVar("T")

LESSON_CHUNKS = 20
CHUNKS_PER_BOOK = 500  #: in the measurement with many books
SEARCHES = 100
WARM_UP = 10
NOISE = 0.03
TOP = 10
MEASURED_CHUNKS = 1_000  #: staged at the end, as an ingest does; the others in larger batches
LARGE_BATCH = 2_000
OPTIMIZER_POLL_SECONDS = 1.0
SEARCHES_PER_ANSWER = 3  #: benchmarks.answers: the time of an answer, in searches


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where an index is: a folder, or a collection on a server."""

    folder: Path
    url: str = ""
    api_key: str = ""
    collection: str = ""

    @property
    def name(self) -> str:
        return "server" if self.url else "embedded"

    def open(self, size: int) -> AbstractAsyncContextManager[LessonIndex]:
        if not self.url:
            return open_index(self.folder / "index", size=size)
        from bookwise.adapters.qdrant.server import ServerAddress, open_server_index
        from bookwise.adapters.qdrant.server_collection import CollectionOptions

        options = CollectionOptions(name=self.collection, fingerprint="scale", size=size)
        return open_server_index(ServerAddress(url=self.url, api_key=self.api_key or None), options)


@dataclass(frozen=True, kw_only=True)
class Material:
    """Real chunks and questions with their vectors."""

    chunks: list[Chunk]
    vectors: Any
    questions: list[str]
    question_vectors: Any
    embedding_ms: float  #: p50 of one question
    embedding_cpu_ms: float  #: mean of one question

    @property
    def size(self) -> int:
        return int(self.vectors.shape[1])


@dataclass(frozen=True, kw_only=True)
class Figures:
    """One row of the table."""

    engine: str
    books: int
    chunks: int
    staged_per_second: float
    open_ms: float
    open_cpu_ms: float
    memory_mib: float  #: that the process has more after opening and searching, without files mapped from disk
    search_ms: float
    slow_ms: float  #: nine in ten searches are faster
    search_cpu_ms: float  #: mean
    recall: float


async def read_material() -> Material:
    chunks = [chunk for lesson in sample_lessons() for chunk in lesson]
    texts = questions()[: SEARCHES + WARM_UP]
    async with open_embedder(load_settings()) as embedder:
        vectors = await embedder.embed_texts([chunk.embedding_text for chunk in chunks])
        times, question_vectors = [], []
        cpu_started = time.process_time()
        for text in texts:
            started = time.perf_counter()
            question_vectors.append(await embedder.embed_query(text))
            times.append((time.perf_counter() - started) * 1e3)
        cpu_ms = (time.process_time() - cpu_started) * 1e3
    return Material(
        chunks=chunks,
        vectors=np.array(vectors, dtype=np.float32),
        questions=texts,
        question_vectors=np.array(question_vectors, dtype=np.float32),
        embedding_ms=statistics.median(times),
        embedding_cpu_ms=cpu_ms / len(texts),
    )


def lessons(material: Material, book: int, count: int) -> Iterator[tuple[list[Chunk], Any]]:
    """Lessons of one book, up to `count` chunks, each with the vectors of its chunks."""
    dice = np.random.default_rng(book)
    for number in range(0, count, LESSON_CHUNKS):
        length = min(LESSON_CHUNKS, count - number)
        picks = dice.integers(len(material.chunks), size=(length, 3))
        weights = dice.dirichlet([0.5] * 3, size=length).astype(np.float32)
        mixed = np.einsum("ij,ijk->ik", weights, material.vectors[picks])
        mixed += dice.normal(0, NOISE, mixed.shape)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        yield [_chunk(material, book, number, index, pick) for index, pick in enumerate(picks)], mixed


def _chunk(material: Material, book: int, lesson: int, index: int, pick: Any) -> Chunk:
    """The words of two real chunks."""
    one, other = (material.chunks[number] for number in pick[:2])
    text = f"{one.text[: len(one.text) // 2]} {other.text[len(other.text) // 2 :]}"
    return replace(
        one,
        id=f"{book}-{lesson}-{index}",
        text=text,
        content_hash=sha256(text.encode()).hexdigest(),
        locator=replace(one.locator, book_id=f"book-{book}"),
        lesson_id=f"lesson-{book}-{lesson}",
        revision=f"revision-{book}-{lesson}",
        index=index,
        total=LESSON_CHUNKS,
    )


async def fill(place: Place, material: Material, books: int, per_book: int) -> float:
    """Fills the index; returns the chunks per second of staging alone, measured at its end as an ingest stages."""
    left, last = books * per_book, list[float]()
    async with place.open(material.size) as index:
        threshold = pause_optimizer(place) if place.url else 0
        for batch in batches(embedded_chunks(place, material, books, per_book), books * per_book):
            if place.url and left <= MEASURED_CHUNKS and not last:
                set_optimizer(place, threshold)
            started = time.perf_counter()
            await index.stage(batch)
            if left <= MEASURED_CHUNKS:
                last.append((time.perf_counter() - started) / len(batch))
            left -= len(batch)
    return 1 / statistics.median(last)


def batches(chunks: Iterator[EmbeddedChunk], left: int) -> Iterator[list[EmbeddedChunk]]:
    """Large batches, then those of an ingest."""
    while left:
        large = min(LARGE_BATCH, left - MEASURED_CHUNKS)
        batch = list(islice(chunks, large if large > 0 else BATCH_CHUNKS))
        left -= len(batch)
        yield batch


def embedded_chunks(place: Place, material: Material, books: int, per_book: int) -> Iterator[EmbeddedChunk]:
    """All chunks with their vectors. Those of the first book are kept, for the exact search."""
    now, first = utc_now(), []
    for book in range(books):
        for chunks, vectors in lessons(material, book, per_book):
            if book == 0:
                first.append(vectors.astype(np.float32))
            for chunk, vector in zip(chunks, vectors.tolist(), strict=True):
                yield EmbeddedChunk(chunk=chunk, vector=tuple(vector), embedding_model="scale", embedded_at=now)
    np.save(place.folder / "first.npy", np.concatenate(first))


async def measure(place: Place, material: Material) -> dict[str, float]:
    """Opens the index with its first book, and searches that."""
    before, started, cpu_started = memory_mib(), time.perf_counter(), time.process_time()
    async with place.open(material.size) as index:
        await index.revisions("book-0")
        opened, cpu_opened = time.perf_counter() - started, time.process_time() - cpu_started
        times, found, cpu_started = [], [], time.process_time()
        for text, vector in zip(material.questions, material.question_vectors.tolist(), strict=True):
            started = time.perf_counter()
            hits = await index.nearest(tuple(vector), text, within=Filter(book_id="book-0"), limit=CANDIDATES_MIN)
            best = sorted(hits, key=lambda hit: -hit.cosine)[:TOP]
            await index.read("book-0", [hit.ref for hit in best[:5]])
            times.append((time.perf_counter() - started) * 1e3)
            found.append([hit.cosine for hit in best])
        cpu_searched, used = time.process_time() - cpu_started, memory_mib() - before
    warm = sorted(times[WARM_UP:])
    return {
        "open_ms": opened * 1e3,
        "open_cpu_ms": cpu_opened * 1e3,
        "memory_mib": used,
        "search_ms": statistics.median(warm),
        "slow_ms": warm[int(len(warm) * 0.9)],
        "search_cpu_ms": cpu_searched * 1e3 / len(times),
        "recall": recall(np.load(place.folder / "first.npy"), material.question_vectors, found),
    }


def recall(vectors: Any, questions: Any, found: Sequence[Sequence[float]]) -> float:
    """The share of the ten nearest vectors that were found. Compared by cosine, so that ties count as found."""
    shares = []
    for question, cosines in zip(questions, found, strict=True):
        tenth = np.sort(vectors @ question)[-TOP]
        shares.append(sum(cosine >= tenth - 1e-5 for cosine in cosines) / TOP)
    return float(np.mean(shares[WARM_UP:]))


def memory_mib() -> float:
    """Memory that only this process uses. Files mapped from disk do not count: the system may drop them."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


def in_process(work: Callable[[], T]) -> T:
    """The result of `work` from a new process, so that no row finds what another one has loaded."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work).result()


def run(work: Callable[..., Any], *arguments: Any) -> Any:
    return anyio.run(partial(work, *arguments))


def row(place: Place, material: Material, books: int, per_book: int) -> Figures:
    staged = in_process(partial(run, fill, place, material, books, per_book))
    if place.url:
        wait_for_optimizer(place)
    figures = in_process(partial(run, measure, place, material))
    return Figures(engine=place.name, books=books, chunks=books * per_book, staged_per_second=staged, **figures)


def rows(material: Material, cases: Sequence[tuple[int, int]], addresses: Sequence[str], key: str) -> Iterator[Figures]:
    """Two rows for each case, if there is a server. The address of the engine in the process is empty."""
    for books, per_book in cases:
        for address in addresses:
            with tempfile.TemporaryDirectory() as scratch:
                place = Place(
                    folder=Path(scratch), url=address, api_key=key, collection=f"scale-{uuid.uuid4().hex[:8]}"
                )
                try:
                    yield row(place, material, books, per_book)
                finally:
                    if address:
                        _request(place, "DELETE").close()


def pause_optimizer(place: Place) -> int:
    """Lets the server write without indexing. Returns the size in kB from which it indexed so far."""
    threshold = int(_state(place)["config"]["optimizer_config"]["indexing_threshold"])
    set_optimizer(place, 0)
    return threshold


def set_optimizer(place: Place, threshold: int) -> None:
    _request(place, "PATCH", {"optimizers_config": {"indexing_threshold": threshold}}).close()


def wait_for_optimizer(place: Place) -> None:
    """Returns when the server has indexed what was written: until then, this work takes the cores of the searches."""
    while _state(place)["status"] != "green":
        time.sleep(OPTIMIZER_POLL_SECONDS)


def _state(place: Place) -> dict[str, Any]:
    with _request(place) as response:
        state: dict[str, Any] = json.load(response)["result"]
    return state


def _request(place: Place, method: str = "GET", body: dict[str, Any] | None = None) -> Any:
    from urllib.request import Request, urlopen

    headers = {"Content-Type": "application/json", **({"api-key": place.api_key} if place.api_key else {})}
    address = f"{place.url}/collections/{place.collection}-scale"
    data = json.dumps(body).encode() if body else None
    return urlopen(Request(address, data=data, headers=headers, method=method), timeout=60)


def show(figures: Figures, unit: float) -> None:
    print(
        f"{figures.engine:9} {figures.books:5} {figures.chunks:8,} {figures.search_ms:8.2f} {figures.slow_ms:8.2f} "
        f"{figures.search_ms / unit:8.2f} {figures.search_cpu_ms:8.2f} {figures.recall:7.3f} {figures.open_ms:8.0f} "
        f"{figures.open_cpu_ms:8.0f} {figures.memory_mib:8.0f} {figures.staged_per_second:8,.0f}",
        flush=True,
    )


def guide(measured: Sequence[Figures], material: Material) -> None:
    """What to run for each measured size. An answer without a model takes about as long as three searches."""
    print(f"\nA question is embedded in {material.embedding_ms:.1f} ms ({material.embedding_cpu_ms:.1f} ms CPU).\n")
    print(f"{'books':>5} {'chunks':>8}  {'questions/s per core':>20}  run")
    for figures in measured:
        is_small = figures.chunks / figures.books <= EMBEDDED_CHUNKS_MAX
        run = (
            "Qdrant server" if figures.engine == "server" else "data folder" if is_small else "move to a Qdrant server"
        )
        per_second = 1000 / (SEARCHES_PER_ANSWER * (material.embedding_ms + figures.search_ms))
        print(f"{figures.books:5} {figures.chunks:8,}  {per_second:20.0f}  {run}")
    embedded = [figures for figures in measured if figures.engine == "embedded" and figures.books == 1]
    if len({figures.chunks for figures in embedded}) > 1:
        slope, _ = np.polyfit([f.chunks for f in embedded], [f.search_ms for f in embedded], 1)
        print(f"\nIn the data folder, 1,000 more chunks add {slope * 1000:.3f} ms to a search.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--books", type=int, nargs="*", default=[1, 20, 200], help=f"of {CHUNKS_PER_BOOK} chunks each")
    parser.add_argument("--chunks", type=int, nargs="*", default=[5_000, 40_000], help="in one book")
    parser.add_argument("--qdrant-url", default="", help="measure this server, too")
    parser.add_argument("--qdrant-api-key", default="", help="of that server")
    parser.add_argument("--server-only", action="store_true", help="leave out the engine in the process")
    options = parser.parse_args()
    material = anyio.run(read_material)
    print(f"{'engine':9} {'books':>5} {'chunks':>8} {'p50 ms':>8} {'p90 ms':>8} {'/embed':>8} {'CPU ms':>8} ", end="")
    print(f"{'recall':>7} {'open ms':>8} {'open CPU':>8} {'MiB':>8} {'staged/s':>8}")
    cases = [(books, CHUNKS_PER_BOOK) for books in options.books] + [(1, chunks) for chunks in options.chunks]
    measured = []
    addresses = [address for address in ("", options.qdrant_url) if address or not options.server_only]
    for figures in rows(material, cases, list(dict.fromkeys(addresses)), options.qdrant_api_key):
        measured.append(figures)
        show(figures, material.embedding_ms)
    guide(measured, material)


if __name__ == "__main__":
    main()
