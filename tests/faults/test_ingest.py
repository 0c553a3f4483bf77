"""What an ingest survives: hostile lessons, lost data, two at once, a failing embedder, another database."""

import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.domain.books import Vector
from bookwise.domain.errors import DamagedData, EmbedderUnavailable, IndexUnavailable, JobAlreadyRunning
from bookwise.domain.jobs import IngestionMode, LessonOutcome
from bookwise.ingestion.discover import discover
from bookwise.ingestion.doctor import examine, repair
from bookwise.ingestion.pipeline import ingest
from bookwise.settings import Settings
from bookwise.wiring import App, open_app
from tests.support.apps import found, hashing_app, ingested, write_book
from tests.support.databases import database_url, postgres  # noqa: F401 - fixtures
from tests.support.traps import trap_book

pytestmark = pytest.mark.anyio

TOPICS = "# Topics\n\nA topic carries messages from many publishers to many subscribers without waiting.\n"
SERVICES = "# Services\n\nA service answers one request with exactly one response, and the caller waits.\n"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with hashing_app(tmp_path / "data") as opened:
        yield opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_book(tmp_path / "b", {"topics.md": TOPICS, "services.md": SERVICES})


async def test_the_trap_book_is_ingested_and_every_failure_has_a_reason(app: App, tmp_path: Path) -> None:
    root, _ = trap_book(tmp_path / "traps")
    outcomes: list[LessonOutcome] = []
    job = await ingested(app, root, outcomes=outcomes)
    assert job.status == "completed"
    assert job.files_processed + job.files_skipped == job.total_files == len(outcomes)
    assert job.files_processed > 20
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    assert failed
    assert all(outcome.reason and outcome.message for outcome in failed)
    assert await examine("book", index=app.index, catalog=app.catalog) == []
    again = await ingested(app, root)
    assert (again.files_processed, again.chunks_created) == (0, 0)


async def test_a_broken_edit_keeps_the_last_good_lesson(app: App, root: Path) -> None:
    await ingested(app, root)
    (root / "services.md").write_bytes(b"\xff\xfe\x00 broken \xd8")
    job = await ingested(app, root)
    assert job.files_failed == 1
    assert "exactly one response" in (await found(app, "one request with one response")).hits[0].chunk.text


async def test_two_ingests_of_one_book_at_once_are_refused_clearly(app: App, root: Path) -> None:
    refused: list[JobAlreadyRunning] = []

    async def one() -> None:
        try:
            await ingested(app, root)
        except JobAlreadyRunning as error:
            refused.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(one)
        tasks.start_soon(one)
    assert len(refused) == 1
    assert "job 1" in refused[0].message
    assert len((await found(app, "topic or service")).hits) == 2


async def test_an_index_that_vanished_is_never_a_silent_nothing(root: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    async with hashing_app(data) as app:
        await ingested(app, root)
    shutil.rmtree(data / "index")
    async with hashing_app(data) as app:
        with pytest.raises(IndexUnavailable, match="was lost") as caught:
            await found(app, "one request")
        assert "bookwise ingest" in caught.value.advice
        job = await ingested(app, root)
        assert job.files_processed == 2
        assert len((await found(app, "topic or service")).hits) == 2


@pytest.mark.parametrize("part", ["wal/*", "edge_config.json", "segments/*/version.info"])
async def test_a_damaged_index_is_named_and_nothing_is_deleted(root: Path, tmp_path: Path, part: str) -> None:
    data = tmp_path / "data"
    async with hashing_app(data) as app:
        await ingested(app, root)
    (folder,) = (data / "index").glob("*/books/*")
    for file in folder.glob(part):
        file.write_bytes(b"garbage")
    pages = sorted(folder.rglob("page_*.dat"))
    with pytest.raises(DamagedData, match="cannot be opened"):
        async with hashing_app(data):
            pass
    assert pages
    assert sorted(folder.rglob("page_*.dat")) == pages


async def test_doctor_finds_and_repairs_missing_and_orphaned_chunks(app: App, root: Path) -> None:
    await ingested(app, root)
    (lost, kept) = await app.catalog.records("book")
    await app.index.remove("book", [lost.revision])
    findings = await examine("book", index=app.index, catalog=app.catalog)
    assert [(f.kind, f.subject, f.stored) for f in findings] == [("incomplete-lesson", lost.source_file, 0)]
    await repair(findings, index=app.index, catalog=app.catalog)
    assert [r.source_file for r in await app.catalog.records("book")] == [kept.source_file]
    await app.catalog.withdraw("book", [kept.source_file])
    orphans = await examine("book", index=app.index, catalog=app.catalog)
    assert [f.kind for f in orphans] == ["orphan-chunks"]
    await repair(orphans, index=app.index, catalog=app.catalog)
    assert await examine("book", index=app.index, catalog=app.catalog) == []


class FailingEmbedder(HashingEmbedder):
    """Cannot embed texts that hold a certain word."""

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        if any("request" in text for text in texts):
            raise EmbedderUnavailable("no usable vector")
        return await super().embed_texts(texts)


async def test_a_text_that_cannot_be_embedded_fails_only_its_own_lesson(app: App, root: Path) -> None:
    kit = replace(app.ingestion_kit, embedder=FailingEmbedder())
    outcomes: list[LessonOutcome] = []
    job = await ingest(discover(root, book_id="book"), root, kit, report=outcomes.append)
    assert (job.files_processed, job.files_failed) == (1, 1)
    assert ("services.md", "embedding") in [(o.source_file, o.reason) for o in outcomes]


async def test_an_embedder_that_is_down_ends_the_job_and_what_was_published_stays(app: App, root: Path) -> None:
    await ingested(app, root)
    book = {f"zoo-{n}.md": f"# Calls {n}\n\nA request number {n} is answered by response {n}.\n" for n in range(5)}
    write_book(root, book)
    kit = replace(app.ingestion_kit, embedder=FailingEmbedder())
    with pytest.raises(EmbedderUnavailable):
        await ingest(discover(root, book_id="book"), root, kit)
    (job, *_) = await app.jobs.jobs("book")
    assert job.status == "failed"
    assert "embedder-unavailable" in (job.error_message or "")
    assert len((await found(app, "topic or service")).hits) == 2
    assert (await ingested(app, root)).files_processed == 5, "and a later run goes on"


async def test_the_whole_road_runs_on_every_database(root: Path, tmp_path: Path, database_url: str) -> None:  # noqa: F811
    settings = Settings(data_dir=tmp_path / "data", embedder="hashing", database_url=SecretStr(database_url))
    async with open_app(settings) as app:
        await ingested(app, root)
        write_book(root, {"services.md": SERVICES.replace("exactly one response", "a stream of answers")})
        job = await ingested(app, root)
        assert (job.files_processed, job.files_skipped, job.chunks_deleted) == (1, 1, 1)
        best = (await found(app, "one request")).hits[0].chunk
        assert "stream of answers" in best.text
    async with open_app(settings) as app:
        assert len((await found(app, "topic or service")).hits) == 2


async def test_versions_and_ages_of_chunks_show_what_changed(app: App, root: Path) -> None:
    two_parts = "# Long\n\n## One\n\nThe first part stays as it is.\n\n## Two\n\nThe second part will change soon.\n"
    write_book(root, {"long.md": two_parts})
    await ingested(app, root)
    write_book(root, {"long.md": two_parts.replace("will change soon", "has changed now")})
    await ingested(app, root)
    (record,) = [r for r in await app.catalog.records("book") if r.source_file == "long.md"]
    first, second = [c for c in await app.index.lesson("book", record.lesson_id) if c.revision == record.revision]
    assert (first.version, second.version) == (2, 1), "the first has a new neighbour, the second is new"
    assert first.created_at < first.updated_at == second.created_at
    await ingested(app, root, mode="full")
    again = [c for c in await app.index.lesson("book", record.lesson_id) if c.revision == record.revision]
    assert again == [first, second], "a full ingest of the same files changes nothing"


class CountingEmbedder(HashingEmbedder):
    """Remembers what it was asked to embed."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        self.texts += texts
        return await super().embed_texts(texts)


async def test_an_edit_embeds_only_the_chunks_it_touched(app: App, root: Path) -> None:
    embedder = CountingEmbedder()
    kit = replace(app.ingestion_kit, embedder=embedder)

    async def embedded(mode: IngestionMode = "incremental") -> list[str]:
        embedder.texts = []
        await ingest(discover(root, book_id="book"), root, kit, mode=mode)
        return embedder.texts

    assert len(await embedded()) == 2
    assert await embedded() == []
    write_book(root, {"topics.md": f"{TOPICS}\n## More\n\nA latched topic keeps its last message for late readers.\n"})
    assert [text for text in await embedded() if "latched" not in text] == []
    assert await embedded("full") == [], "all lessons again, but no text is new"
    assert len(await embedded("recreate")) == 3, "all texts again"


async def test_a_book_may_raise_the_limit_of_a_lesson(app: App, root: Path) -> None:
    padding = "<!-- " + "x" * (9 * 1024 * 1024) + " -->"
    write_book(root, {"large.md": f"# Large\n\n{padding}\n\nThe largest lesson has one sentence to say.\n"})
    assert (await ingested(app, root)).files_failed == 1
    write_book(root, {"bookwise.toml": "[limits]\nmax_file_bytes = 10485760\n"})
    assert (await ingested(app, root)).files_failed == 0
    assert (await found(app, "the largest lesson")).hits[0].chunk.locator.source_file == "large.md"
