"""The commit order: chunks are stored, then readers are switched over, then old chunks are removed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bookwise.domain.books import Book
from bookwise.ingestion.publish import EmbeddedLesson, inherit, publish, sweep
from bookwise.retrieval import read
from bookwise.wiring import App
from tests.support.apps import hashing_app
from tests.support.builders import chunks, embedded, record
from tests.support.port_proxies import Crash, PortCalls

pytestmark = pytest.mark.anyio

OLD = ("The arm has two joints.", "The arm lifts two kilograms.")
NEW = ("The arm has three joints.", "The arm lifts three kilograms.", "The arm rests at night.")
VECTOR = (1.0,) + (0.0,) * 63


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[App]:
    async with hashing_app(tmp_path / "data") as opened:
        await opened.catalog.register(Book(id="book", title="Book", embedder="hashing:64:1"))
        yield opened


def lesson(revision: str, *texts: str) -> EmbeddedLesson:
    made = chunks("arm", revision, *texts)
    return EmbeddedLesson(record=record("arm", revision, made), chunks=tuple(embedded(made, *[VECTOR] * len(made))))


async def texts_seen(app: App) -> list[str]:
    """What a reader gets who opens the lesson."""
    (live,) = await app.catalog.records("book")
    seen = await read.lesson("book", live.lesson_id, index=app.index, catalog=app.catalog)
    return [chunk.text.split("\n")[-1] for chunk in seen]


async def test_a_published_lesson_replaces_the_old_one_as_a_whole(app: App) -> None:
    await publish([lesson("r1", *OLD)], index=app.index, catalog=app.catalog)
    assert await texts_seen(app) == list(OLD)
    await publish([lesson("r2", *NEW)], index=app.index, catalog=app.catalog)
    assert await texts_seen(app) == list(NEW)


async def test_readers_are_switched_over_only_when_all_chunks_are_stored(app: App) -> None:
    calls = PortCalls()
    index, catalog = calls.around("index", app.index), calls.around("catalog", app.catalog)
    await publish([lesson("r1", *OLD)], index=index, catalog=catalog)
    assert calls.names == ["index.stage", "catalog.activate"]


@pytest.mark.parametrize("after_effect", [False, True])
@pytest.mark.parametrize("step", [1, 2])
async def test_a_crash_while_publishing_shows_the_old_lesson_or_the_new_one(
    app: App, step: int, after_effect: bool
) -> None:
    await publish([lesson("r1", *OLD)], index=app.index, catalog=app.catalog)
    calls = PortCalls(fail_at=step, after_effect=after_effect)
    index, catalog = calls.around("index", app.index), calls.around("catalog", app.catalog)
    with pytest.raises(Crash):
        await publish([lesson("r2", *NEW)], index=index, catalog=catalog)
    expected = NEW if (step, after_effect) == (2, True) else OLD
    assert await texts_seen(app) == list(expected)
    await publish([lesson("r2", *NEW)], index=app.index, catalog=app.catalog)
    assert await texts_seen(app) == list(NEW), "publishing again repairs it"


async def test_a_sweep_removes_what_no_reader_sees_and_nothing_else(app: App) -> None:
    await publish([lesson("r1", *OLD)], index=app.index, catalog=app.catalog)
    await publish([lesson("r2", *NEW)], index=app.index, catalog=app.catalog)
    assert await sweep("book", index=app.index, catalog=app.catalog) == len(OLD)
    assert await app.index.revisions("book") == {"r2": len(NEW)}
    assert await texts_seen(app) == list(NEW)
    assert await sweep("book", index=app.index, catalog=app.catalog) == 0


async def test_a_chunk_keeps_its_age_and_gets_a_new_version_when_its_neighbour_changes(app: App) -> None:
    first = lesson("r1", *OLD)
    await publish([first], index=app.index, catalog=app.catalog)
    same = await inherit(chunks("arm", "r2", *OLD), first.record, app.index)
    assert [chunk.version for chunk in same] == [1, 1]
    edited = await inherit(chunks("arm", "r2", OLD[0], "The arm lifts nine kilograms."), first.record, app.index)
    assert [chunk.version for chunk in edited] == [2, 1]
