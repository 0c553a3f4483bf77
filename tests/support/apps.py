"""Real apps on throw-away data folders, with the test embedder where meaning does not matter."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bookwise.domain.jobs import IngestionJob, IngestionMode, LessonOutcome
from bookwise.domain.search import Filter, SearchQuery, SearchResult
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.retrieval.search import search
from bookwise.settings import Settings
from bookwise.wiring import App, open_app

SAMPLE_BOOK = Path(__file__).parents[2] / "examples" / "physical-ai"


@asynccontextmanager
async def hashing_app(data: Path) -> AsyncIterator[App]:
    async with open_app(Settings(data_dir=data, embedder="hashing")) as app:
        yield app


def write_book(root: Path, lessons: Mapping[str, str]) -> Path:
    """A folder of lessons: file name → Markdown."""
    for name, text in lessons.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return root


async def ingested(
    app: App,
    root: Path,
    *,
    book_id: str = "book",
    mode: IngestionMode = "incremental",
    outcomes: list[LessonOutcome] | None = None,
) -> IngestionJob:
    report = (outcomes if outcomes is not None else []).append
    return await ingest(discover(root, book_id=book_id), root, app.ingestion_kit, mode=mode, report=report)


async def found(app: App, text: str, *, limit: int = 5, **within: object) -> SearchResult:
    wanted = Filter(**{"book_id": "book", **within})  # type: ignore[arg-type]
    return await search(SearchQuery(text=text, filter=wanted, limit=limit), app.search_kit)
