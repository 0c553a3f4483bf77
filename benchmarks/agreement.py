"""The same book in the process and on a Qdrant server: do both rank alike, and how long does the index take?

python -m benchmarks.agreement http://localhost:6333 [--set rust-book] [--data-dir FOLDER]

QDRANT_API_KEY is read from the environment. The collection is called bookwise-agreement and stays on the server.
"""

import argparse
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median

import anyio

from benchmarks.sets import EvaluationSet, load
from bookwise.domain.search import Filter, SearchQuery, SearchResult
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.retrieval.search import search
from bookwise.settings import Settings, load_settings
from bookwise.wiring import DATABASE_FILE, open_app

COLLECTION = "bookwise-agreement"
TOP = 5


async def results(settings: Settings, evaluation_set: EvaluationSet) -> list[SearchResult]:
    """The hits of every question, after the book has been ingested."""
    async with open_app(settings) as app:
        book = evaluation_set.book
        await ingest(discover(book, book_id=evaluation_set.name), book, app.ingestion_kit)
        within = Filter(book_id=evaluation_set.name)
        queries = [SearchQuery(text=question.text, filter=within, limit=TOP) for question in evaluation_set.questions]
        await search(queries[0], app.search_kit)  # the first one loads the model
        return [await search(query, app.search_kit) for query in queries]


def difference(one: SearchResult, other: SearchResult) -> float:
    """The largest difference of any score between two rankings with the same chunks."""
    return max(
        abs(a - b)
        for left, right in zip(one.hits, other.hits, strict=True)
        for a, b in ((left.score, right.score), (left.cosine, right.cosine), (left.lexical, right.lexical))
    )


def show(name: str, embedded: list[SearchResult], server: list[SearchResult]) -> None:
    pairs = list(zip(embedded, server, strict=True))
    same = [(a, b) for a, b in pairs if [h.chunk.id for h in a.hits] == [h.chunk.id for h in b.hits]]
    largest = max((difference(a, b) for a, b in same), default=0.0)
    times = [median(result.timings.index_ms for result in results) for results in (embedded, server)]
    print(
        f"{name}: the same top {TOP} for {len(same)} of {len(pairs)} questions, scores differ by at most {largest:.1e}"
    )
    print(f"index p50: {times[0]:.1f} ms in the process, {times[1]:.1f} ms on the server")


async def measure(url: str, name: str, data: Path) -> None:
    settings = load_settings(data_dir=data / "embedded")
    evaluation_set = load(name)
    embedded = await results(settings, evaluation_set)
    (data / "server").mkdir(exist_ok=True)
    shutil.copyfile(data / "embedded" / DATABASE_FILE, data / "server" / DATABASE_FILE)  # for the cached vectors
    on_server = replace(settings, data_dir=data / "server", qdrant_url=url, qdrant_collection_name=COLLECTION)
    show(name, embedded, await results(on_server, evaluation_set))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--set", default="rust-book")
    parser.add_argument("--data-dir", type=Path, help="store the indexes here and reuse them")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        anyio.run(measure, options.url, options.set, options.data_dir or Path(scratch))


if __name__ == "__main__":
    main()
