"""Ingesting a book, compared with the bare embedder: on the same chunks, and on pieces of 260 words as a simple loop
would embed them. Time, memory, and the cost of a second run.

python -m benchmarks.ingest [--book FOLDER] [--rounds N]
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.sets import DATA

LOOP_WORDS = 260


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def bare(texts_file: Path) -> dict[str, float]:
    """Only the embedder, in its fastest mode."""
    from bookwise.adapters.embedders.minilm import MiniLM
    from bookwise.settings import load_settings

    texts = json.loads(texts_file.read_text())
    embedder = MiniLM(cache=load_settings().cache_folder)
    started = time.perf_counter()
    embedder._embed_all(texts)
    return {"seconds": time.perf_counter() - started, "peak": peak_mib()}


async def whole(book: Path, data: Path) -> dict[str, Any]:
    """A full ingest, then one without changes, then one after an edit of one lesson."""
    from bookwise.settings import load_settings
    from bookwise.wiring import open_app

    async with open_app(load_settings(data_dir=data)) as app:
        first, chunks = await timed(app, book)
        peak = peak_mib()
        again, _ = await timed(app, book)
        lesson = longest_lesson(book)
        text = lesson.read_text()
        lesson.write_text(text + "\n\nOne more sentence closes this lesson.\n")
        edited, _ = await timed(app, book)
        lesson.write_text(text)
    return {"seconds": first, "peak": peak, "chunks": chunks, "again": again, "edited": edited}


def longest_lesson(book: Path) -> Path:
    return max(book.rglob("*.md"), key=lambda path: path.stat().st_size)


async def timed(app: Any, book: Path) -> tuple[float, int]:
    from bookwise.ingestion.discover import discover
    from bookwise.ingestion.pipeline import ingest

    started = time.perf_counter()
    job = await ingest(discover(book, book_id="bench"), book, app.ingestion_kit)
    return time.perf_counter() - started, job.chunks_created


def embedding_texts(book: Path) -> list[str]:
    from bookwise.ingestion.chunk import ChunkOptions, chunk
    from bookwise.ingestion.discover import discover, read_lesson
    from bookwise.ingestion.parse import parse
    from bookwise.ingestion.stages import utc_now

    texts: list[str] = []
    for file in discover(book, book_id="bench").files:
        lesson = parse(file, read_lesson(book, file))
        texts += [c.embedding_text for c in chunk(lesson, ChunkOptions(), revision="", now=utc_now())]
    return list(dict.fromkeys(texts))


def loop_texts(book: Path) -> list[str]:
    """All text of the book in pieces of 260 words."""
    from bookwise.ingestion.discover import discover

    texts: list[str] = []
    for file in discover(book, book_id="bench").files:
        words = (book / file.source_file).read_text(encoding="utf-8", errors="replace").split()
        texts += [" ".join(words[start : start + LOOP_WORDS]) for start in range(0, len(words), LOOP_WORDS)]
    return texts


def child(*arguments: str) -> dict[str, Any]:
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.ingest", *arguments], capture_output=True, text=True, check=True
    )
    result = json.loads(process.stdout.splitlines()[-1])
    assert isinstance(result, dict)
    return result


def compare(book: Path, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "book"
        shutil.copytree(book, copy)
        texts = Path(scratch) / "texts.json"
        texts.write_text(json.dumps(embedding_texts(copy)))
        pieces = Path(scratch) / "pieces.json"
        pieces.write_text(json.dumps(loop_texts(copy)))
        runs = []
        for number in range(rounds):
            one = child("--bare", str(texts))
            two = child("--whole", str(copy), str(Path(scratch) / f"data-{number}"))
            loop = child("--bare", str(pieces))
            runs.append((one, two, loop))
            print(
                f"  round {number + 1}: bare {one['seconds']:.1f} s, ingest {two['seconds']:.1f} s, "
                f"loop {loop['seconds']:.1f} s",
                flush=True,
            )
    middle = statistics.median
    print(f"chunks                              {runs[0][1]['chunks']}")
    print(f"ingest / bare embedder, time        {middle(b['seconds'] / a['seconds'] for a, b, _ in runs):.3f}")
    print(f"ingest / loop over 260 words, time  {middle(b['seconds'] / loop['seconds'] for _, b, loop in runs):.3f}")
    print(f"ingest / bare embedder, peak memory {middle(b['peak'] / a['peak'] for a, b, _ in runs):.3f}", end="")
    print(f"   ({runs[0][1]['peak']:.0f} / {runs[0][0]['peak']:.0f} MiB)")
    print(f"first / unchanged ingest            {middle(b['seconds'] / b['again'] for _, b, _ in runs):.0f} x")
    print(f"first / ingest after one edit       {middle(b['seconds'] / b['edited'] for _, b, _ in runs):.0f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", type=Path, default=DATA / "evaluation" / "rust-book" / "book")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--bare", type=Path)
    parser.add_argument("--whole", type=Path, nargs=2)
    options = parser.parse_args()
    if options.bare:
        print(json.dumps(bare(options.bare)))
    elif options.whole:
        import anyio

        print(json.dumps(anyio.run(whole, *options.whole)))
    elif not options.book.exists():
        print(f"skipped: {options.book} does not exist")
    else:
        compare(options.book, options.rounds)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    main()
