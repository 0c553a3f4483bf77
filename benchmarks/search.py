"""A warm search compared with the bare query embedding, at 1,000 and 40,000 chunks; a cold `bookwise search` compared
with a bare script that loads onnxruntime, the model and the index.

python -m benchmarks.search
"""

import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio

from bookwise.domain.books import Audience, Book, Chunk, EmbeddedChunk, LessonPosition, Vector
from bookwise.domain.jobs import LessonRecord
from bookwise.domain.search import Filter, SearchQuery
from bookwise.ingestion.chunk import ChunkOptions, chunk
from bookwise.ingestion.discover import discover, read_lesson
from bookwise.ingestion.parse import parse
from bookwise.ingestion.publish import EmbeddedLesson, publish
from bookwise.ingestion.stages import utc_now
from bookwise.retrieval.search import search
from bookwise.settings import load_settings
from bookwise.wiring import App, index_folder, open_app, open_search

SAMPLE = Path("examples/physical-ai")
QUESTIONS = 200
COLD_RUNS = 7

BARE_SCRIPT = """
import sys, numpy, onnxruntime, qdrant_edge
from tokenizers import Tokenizer
graph, tokenizer, index = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
ids = numpy.array([Tokenizer.from_file(tokenizer).encode("What is a node?").ids], dtype=numpy.int64)
vector = session.run(None, {"input_ids": ids[:, :8]})[0][0].tolist()
shard = qdrant_edge.EdgeShard.load(index, None)
nearest = qdrant_edge.Query.Nearest(vector, using="dense")
shard.query(qdrant_edge.QueryRequest(limit=5, query=nearest, with_payload=True))
"""


def sample_lessons() -> list[tuple[Chunk, ...]]:
    lessons = []
    for file in discover(SAMPLE, book_id="bench").files:
        lesson = parse(file, read_lesson(SAMPLE, file))
        lessons.append(chunk(lesson, ChunkOptions(), revision="", now=utc_now()))
    return lessons


def copies(lessons: list[tuple[Chunk, ...]], count: int) -> Iterator[tuple[Chunk, ...]]:
    """Lessons with the words of the sample in random order, each different, up to `count` chunks."""
    dice = random.Random(1)
    total = number = 0
    while total < count:
        lesson = lessons[number % len(lessons)][: count - total]
        yield tuple(_copy(c, number, dice) for c in lesson)
        total, number = total + len(lesson), number + 1


def _copy(original: Chunk, number: int, dice: random.Random) -> Chunk:
    words = original.text.split()
    dice.shuffle(words)
    return replace(
        original,
        id=f"{original.id}-{number}",
        text=" ".join(words),
        content_hash=f"{original.content_hash[:40]}-{number}",
        lesson_id=f"lesson-{number}",
        revision=f"revision-{number}",
        audience=Audience(),
    )


def near(vector: Vector, dice: random.Random) -> Vector:
    moved = [x + dice.gauss(0, 0.03) for x in vector]
    length = sum(x * x for x in moved) ** 0.5
    return tuple(x / length for x in moved)


async def fill(app: App, count: int) -> None:
    lessons = sample_lessons()
    texts = [c.embedding_text for lesson in lessons for c in lesson]
    vectors = dict(
        zip((c.id for lesson in lessons for c in lesson), await app.embedder.embed_texts(texts), strict=True)
    )
    facts = app.embedder.facts
    await app.catalog.register(
        Book(id="bench", title="Bench", embedder=facts.fingerprint, embedder_name=facts.name, embedder_size=facts.size)
    )
    dice, batch = random.Random(2), []
    for number, chunks in enumerate(copies(lessons, count)):
        batch.append(_embedded_lesson(number, chunks, vectors, dice))
        if len(batch) == 100:
            await publish(batch, index=app.index, catalog=app.catalog)
            batch = []
    await publish(batch, index=app.index, catalog=app.catalog)


def _embedded_lesson(
    number: int, chunks: tuple[Chunk, ...], vectors: dict[str, Vector], dice: random.Random
) -> EmbeddedLesson:
    now = utc_now()
    record = LessonRecord(
        book_id="bench",
        source_file=f"lesson-{number}.md",
        lesson_id=f"lesson-{number}",
        revision=f"revision-{number}",
        file_hash="0",
        position=LessonPosition(module="main"),
        title="Lesson",
        url="",
        chunk_ids=tuple(c.id for c in chunks),
        ingested_at=now,
    )
    embedded = tuple(
        EmbeddedChunk(chunk=c, vector=near(vectors[c.id[:36]], dice), embedding_model="bench", embedded_at=now)
        for c in chunks
    )
    return EmbeddedLesson(record=record, chunks=embedded)


def questions() -> list[str]:
    """Distinct questions built from sentences of the sample."""
    dice = random.Random(3)
    sentences = [
        s for lesson in sample_lessons() for c in lesson for s in c.text.split(". ") if 5 <= len(s.split()) <= 14
    ]
    return ["How is it that " + " ".join(dice.choice(sentences).split())[:120] + "?" for _ in range(QUESTIONS)]


async def warm(count: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        settings = load_settings(data_dir=Path(scratch))
        async with open_app(settings) as app:
            await fill(app, count)
        async with open_search(settings) as kit:
            texts = questions()
            for text in texts[:20]:
                await search(SearchQuery(text=text, filter=Filter(book_id="bench")), kit)
            bare, whole = [], []
            for text in texts:
                started = time.perf_counter()
                kit.embedder._embed_one(text)  # type: ignore[attr-defined]
                embedded = time.perf_counter()
                await search(SearchQuery(text=text, filter=Filter(book_id="bench")), kit)
                bare.append((embedded - started) * 1e3)
                whole.append((time.perf_counter() - embedded) * 1e3)
    base, p50 = statistics.median(bare), statistics.median(whole)
    print(
        f"{count:6} chunks: search p50 {p50:.2f} ms, query embedding {base:.2f} ms, ratio {p50 / base:.2f}", flush=True
    )


def cold() -> None:
    """Complete processes, alternately."""
    from bookwise.adapters.embedders.minilm import FINGERPRINT, graph_file, tokenizer_file

    settings = load_settings()
    graph, tokenizer = graph_file(settings.model_dir, settings.cache_folder), tokenizer_file(settings.model_dir)
    with tempfile.TemporaryDirectory() as scratch:
        data = Path(scratch)
        program = [str(Path(sys.executable).parent / "bookwise"), "--data-dir", str(data)]
        subprocess.run([*program, "ingest", str(SAMPLE)], check=True, capture_output=True)
        index = index_folder(replace(settings, data_dir=data), FINGERPRINT)
        bare = [sys.executable, "-c", BARE_SCRIPT, str(graph), str(tokenizer), str(index)]
        ours = [*program, "search", "What is a node?"]
        times: dict[str, list[float]] = {"bare": [], "ours": []}
        for _ in range(COLD_RUNS):
            for name, command in (("bare", bare), ("ours", ours)):
                started = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                times[name].append(time.perf_counter() - started)
    one, two = statistics.median(times["bare"]), statistics.median(times["ours"])
    print(f"cold search {two:.2f} s, bare script {one:.2f} s, ratio {two / one:.2f}")


if __name__ == "__main__":
    cold()
    for size in (1_000, 40_000):
        anyio.run(warm, size)
