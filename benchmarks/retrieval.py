"""Retrieval quality on books with known answers: hit@1, hit@5 and hit@10, by page and by section.

python -m benchmarks.retrieval [--data-dir FOLDER] [SET ...]
"""

from collections.abc import Callable, Sequence

from benchmarks.on_sets import measure_sets
from benchmarks.sets import Question, load, plain
from bookwise.domain.books import Chunk
from bookwise.domain.search import Filter, SearchQuery
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.retrieval.search import search
from bookwise.wiring import App

SETS = ("rust-book", "physical-ai", "claude-docs", "mtrag-govt", "mtrag-cloud")
CUTS = (1, 5, 10)
HITS = ", ".join(f"hit@{cut}" for cut in CUTS)
DEEP = 20

Place = tuple[str, str]


def page(chunk: Chunk) -> Place:
    return (chunk.locator.source_file, "")


def section(chunk: Chunk) -> Place:
    return (chunk.locator.source_file, plain(chunk.locator.anchor))


def first_hit(chunks: Sequence[Chunk], gold: set[Place], place: Callable[[Chunk], Place]) -> int:
    """The rank of the first correct place; a rank counts distinct places."""
    places = list(dict.fromkeys(map(place, chunks)))
    return next((rank for rank, candidate in enumerate(places, 1) if candidate in gold), DEEP + 1)


def shares(ranks: list[int]) -> str:
    return " ".join(f"{sum(rank <= cut for rank in ranks) / len(ranks):.3f}" for cut in CUTS)


async def measure(app: App, name: str) -> None:
    queries = "queries_rewrite.jsonl" if name.startswith("mtrag") else "queries.jsonl"
    evaluation_set = load(name, queries=queries)
    job = await ingest(discover(evaluation_set.book, book_id=name), evaluation_set.book, app.ingestion_kit)
    pages, sections = [], []
    for question in evaluation_set.questions:
        chunks = await chunks_for(app, name, question)
        pages.append(first_hit(chunks, {(file, "") for file in question.pages}, page))
        sections.append(first_hit(chunks, set(question.places), section))
    count = len(evaluation_set.questions)
    print(f"{name:12} {count:4} questions   page {shares(pages)}   section {shares(sections)}", flush=True)
    assert job.files_failed == 0


async def chunks_for(app: App, name: str, question: Question) -> list[Chunk]:
    query = SearchQuery(text=question.text, filter=Filter(book_id=name), limit=DEEP)
    return [hit.chunk for hit in (await search(query, app.search_kit)).hits]


if __name__ == "__main__":
    measure_sets(
        __doc__, SETS, measure, heading=f"{HITS}; one configuration for all books; a rank counts distinct places"
    )
