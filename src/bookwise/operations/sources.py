"""The source of a book: read its lessons, or preview what an ingest would change."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio.to_thread

from bookwise.adapters.git import WorkTrees
from bookwise.domain.errors import InvalidInput, SourceNotFound
from bookwise.domain.jobs import Changes, UnreadableFile
from bookwise.ingestion.discover import Discovery, discover
from bookwise.ingestion.plan import changes, lost_revisions
from bookwise.settings import foreign_environment
from bookwise.wiring import App, local_copy


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """What an ingest of a book would change."""

    changes: Changes
    unreadable: tuple[UnreadableFile, ...]


class Sources:
    """The sources of the books of one app."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._work_trees = WorkTrees(
            app.settings.github_repository or "", app.settings.github_branch, environment=foreign_environment()
        )

    async def discover(self, source: str, book_id: str, *, pull: bool) -> tuple[Discovery, Path]:
        """The lessons and the folder they are in. `pull` first updates a folder to the head of its branch."""
        if pull and "://" not in source:
            await self._work_trees.pull(Path(source))
        copy = await local_copy(source, self._app.settings)
        return await _discover(copy.root, book_id), copy.root


async def source_of(book_id: str, app: App) -> str:
    """Where the book is read from. Raises `NotFound` for an unknown book and `SourceNotFound`."""
    book = await app.catalog.book(book_id)
    if not book.source:
        raise SourceNotFound(
            f"The source of the book {book_id!r} is unknown.", advice="Run `bookwise ingest PATH` once."
        )
    return book.source


async def preview_changes(book_id: str, app: App) -> Difference:
    """What an incremental ingest would change now."""
    source = await source_of(book_id, app)
    if "://" in source:
        raise InvalidInput(
            f"The book {book_id!r} is read from a site. Its changes are unknown until it is fetched.",
            advice="Trigger an incremental ingestion: it only replaces what has changed.",
        )
    discovery = await _discover(Path(source), book_id)
    records = await app.catalog.records(book_id)
    unreadable = frozenset(lesson.source_file for lesson in discovery.unreadable)
    lost = lost_revisions(records, await app.index.revisions(book_id))
    difference = changes(discovery.files, records, app.ingestion_kit.recipe, unreadable=unreadable, lost=lost)
    return Difference(changes=difference, unreadable=discovery.unreadable)


async def _discover(root: Path, book_id: str) -> Discovery:
    return await anyio.to_thread.run_sync(partial(discover, root, book_id=book_id))
