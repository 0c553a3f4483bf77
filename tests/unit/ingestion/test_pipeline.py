"""What a job leaves behind: after bad lessons, after failures, and after a crash at any step."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.domain.books import Vector
from bookwise.domain.errors import DiskFull, EmbedderUnavailable, IndexUnavailable, NotFound
from bookwise.ingestion.discover import discover
from bookwise.ingestion.doctor import examine
from bookwise.ingestion.pipeline import ingest
from bookwise.retrieval import read
from bookwise.schemas.ask import module_names
from bookwise.wiring import App
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.port_proxies import Crash, FailingMethod, PortCalls

pytestmark = pytest.mark.anyio

CHANGES = ("index.stage", "catalog.activate", "catalog.register", "index.remove", "catalog.mark_ingested")
BROKEN = "---\nlayer: L1\nlayer: L2\n---\n# Broken\n\nIts front matter has the same key twice.\n"


def lessons(edition: str) -> dict[str, str]:
    return {
        f"{name}.md": f"# {name.title()}\n\nThe {edition} text about {name}.\n" for name in ("arms", "legs", "eyes")
    }


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with hashing_app(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_book(tmp_path / "b", lessons("old"))


class BrokenEmbedder(HashingEmbedder):
    """An embedding service that is down."""

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        raise EmbedderUnavailable("The embedding service is down.")


async def test_one_bad_lesson_does_not_stop_the_job(app: App, root: Path) -> None:
    write_book(root, {"broken.md": BROKEN})
    job = await ingested(app, root)
    assert (job.status, job.files_processed, job.files_failed) == ("completed", 3, 1)
    statuses = {outcome.source_file: outcome.status for outcome in await app.jobs.outcomes(job.job_id)}
    assert statuses["broken.md"] == "failed"
    assert len((await found(app, "the text about arms and legs")).hits) == 3


async def test_a_first_ingest_with_the_embedder_down_lists_no_book_and_keeps_its_job(app: App, root: Path) -> None:
    write_book(root, {"broken.md": BROKEN})
    kit = replace(app.ingestion_kit, embedder=BrokenEmbedder())
    with pytest.raises(EmbedderUnavailable):
        await ingest(discover(root, book_id="book"), root, kit)
    assert await app.catalog.books() == []
    (job,) = await app.jobs.jobs("book")
    assert job.status == "failed"
    failed = {outcome.source_file: outcome.reason for outcome in await app.jobs.outcomes(job.job_id)}
    assert failed["broken.md"] == "front-matter"
    assert "embedding" in failed.values(), "lessons that failed before the job gave up are recorded too"


async def test_a_first_ingest_of_two_lessons_that_cannot_be_embedded_lists_no_book(app: App, tmp_path: Path) -> None:
    root = write_book(tmp_path / "two", dict(list(lessons("old").items())[:2]))
    job = await ingest(discover(root, book_id="book"), root, replace(app.ingestion_kit, embedder=BrokenEmbedder()))
    assert (job.status, job.files_failed) == ("completed", 2), "too few failures to call the embedder down"
    assert await app.catalog.books() == []


async def test_a_first_ingest_of_unreadable_lessons_lists_no_book_and_keeps_its_job(app: App, tmp_path: Path) -> None:
    root = write_book(tmp_path / "bad", {"a.md": BROKEN, "b.md": BROKEN})
    job = await ingested(app, root)
    assert await app.catalog.books() == []
    with pytest.raises(NotFound):
        await found(app, "anything at all")
    assert (await app.jobs.job(job.job_id)).files_failed == len(await app.jobs.outcomes(job.job_id)) > 0


@pytest.mark.parametrize(
    ("port", "method", "error"),
    [
        ("index", "stage", IndexUnavailable("The index refused the call.")),
        ("catalog", "activate", DiskFull("No space left on the disk.")),
    ],
)
async def test_a_first_ingest_that_cannot_store_lists_no_book_and_leaves_no_chunks(
    app: App, root: Path, port: str, method: str, error: Exception
) -> None:
    failing = FailingMethod(method, error).around(getattr(app.ingestion_kit, port))
    kit = replace(app.ingestion_kit, **{port: failing})
    with pytest.raises(type(error)):
        await ingest(discover(root, book_id="book"), root, kit)
    assert await app.catalog.books() == []
    assert await app.index.revisions("book") == {}
    assert (await ingested(app, root)).files_processed == 3, "and the next ingest works"


async def test_a_failed_ingest_never_removes_a_book_that_exists(app: App, root: Path) -> None:
    await ingested(app, root)
    write_book(root, lessons("new"))
    kit = replace(app.ingestion_kit, embedder=BrokenEmbedder())
    with pytest.raises(EmbedderUnavailable):
        await ingest(discover(root, book_id="book"), root, kit)
    write_book(root, dict.fromkeys(lessons("new"), BROKEN))
    assert (await ingested(app, root)).files_failed == 3
    assert [book.id for book in await app.catalog.books()] == ["book"]
    assert len((await found(app, "the old text about arms")).hits) == 3


async def test_a_failed_ingest_keeps_a_book_even_when_it_has_no_live_lesson(app: App, root: Path) -> None:
    await ingested(app, root)
    await app.catalog.withdraw("book", list(lessons("old")))
    failing = FailingMethod("activate", DiskFull("No space left on the disk.")).around(app.ingestion_kit.catalog)
    with pytest.raises(DiskFull):
        await ingest(discover(root, book_id="book"), root, replace(app.ingestion_kit, catalog=failing))
    assert [book.id for book in await app.catalog.books()] == ["book"]


async def test_a_first_ingest_that_publishes_a_part_of_the_book_keeps_that_part(app: App, root: Path) -> None:
    class OneLessonEmbedder(HashingEmbedder):
        async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
            if any("arms" not in text for text in texts):
                raise EmbedderUnavailable("The embedding service is down.")
            return await super().embed_texts(texts)

    job = await ingest(discover(root, book_id="book"), root, replace(app.ingestion_kit, embedder=OneLessonEmbedder()))
    assert (job.files_processed, job.files_failed) == (1, 2)
    assert [book.id for book in await app.catalog.books()] == ["book"]


async def test_readers_can_filter_by_a_module_that_only_a_folder_names(app: App, tmp_path: Path) -> None:
    lessons = {"ros2/nodes.md": "# Nodes\n\nA node runs code.\n", "setup/tools.md": "# Tools\n\nInstall the code.\n"}
    root = write_book(tmp_path / "robots", lessons)
    await ingested(app, root, book_id="physical-ai-robotics")
    book = await app.catalog.book("physical-ai-robotics")
    assert "setup" in module_names(book)
    hits = (await found(app, "install the code", book_id=book.id, module="setup")).hits
    assert [hit.chunk.locator.source_file for hit in hits] == ["setup/tools.md"]


async def texts_seen(app: App) -> dict[str, str]:
    """What readers see of each lesson; every live lesson must be complete."""
    findings = await examine("book", index=app.index, catalog=app.catalog)
    assert [f.message for f in findings if f.kind == "incomplete-lesson"] == []
    seen = {}
    for record in await app.catalog.records("book"):
        chunks = await read.lesson("book", record.lesson_id, index=app.index, catalog=app.catalog)
        assert tuple(chunk.id for chunk in chunks) == record.chunk_ids
        seen[record.source_file] = "\n".join(chunk.text for chunk in chunks)
    return seen


async def steps_of_an_ingest(app: App, root: Path) -> list[tuple[int, str]]:
    """The calls that change what the catalog and the index hold, with their numbers."""
    calls = PortCalls()
    await ingest(discover(root, book_id="book"), root, calls.around_kit(app.ingestion_kit))
    return [(number, name) for number, name in enumerate(calls.names, 1) if name in CHANGES]


async def test_after_a_crash_at_any_step_readers_see_old_or_new_lessons_and_the_next_run_repairs(
    app: App, root: Path
) -> None:
    await ingested(app, root)
    write_book(root, lessons("edition 0"))
    steps = await steps_of_an_ingest(app, root)
    assert [name for _, name in steps] == list(CHANGES)
    crashes = [(*step, after_effect) for step in steps for after_effect in (False, True)]
    for edition, (number, name, after_effect) in enumerate(crashes, 1):
        old = await texts_seen(app)
        write_book(root, lessons(f"edition {edition}"))
        calls = PortCalls(fail_at=number, after_effect=after_effect)
        with pytest.raises(Crash):
            await ingest(discover(root, book_id="book"), root, calls.around_kit(app.ingestion_kit))
        where = f"crash at {name}, after its effect: {after_effect}"
        for file, text in (await texts_seen(app)).items():
            assert text == old[file] or f"edition {edition} text" in text, where
        await app.jobs.interrupt_running()
        await ingested(app, root)
        assert all(f"edition {edition} text" in text for text in (await texts_seen(app)).values()), where
        live = await app.catalog.live("book")
        assert set(await app.index.revisions("book")) == live.revisions, where
