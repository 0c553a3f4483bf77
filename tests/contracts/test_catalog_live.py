"""What a catalog promises to readers during writes: complete snapshots, never stale ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Concatenate, ParamSpec, TypeVar

import anyio
import pytest
from sqlalchemy import Connection

from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.ports import Catalog
from tests.support.catalogs import ROBOTS, record, revisions

pytestmark = pytest.mark.anyio

P = ParamSpec("P")
T = TypeVar("T")
LARGE = 3000  #: lessons: their values are more than a statement of SQLite takes


class SlowDatabase(Database):
    """A database whose read results arrive only after a signal, as over a slow network."""

    def __init__(self, real: Database) -> None:
        super().__init__(real.runner, real.address)
        self.reads = anyio.Semaphore(0)
        self.answer = anyio.Event()

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        result = await super().read(work, *args, **kwargs)
        self.reads.release()
        await self.answer.wait()
        return result


async def test_lessons_of_another_index_are_not_live_until_activated_in_this_one(database: Database) -> None:
    other_index = SqlCatalog(database, index_id="lost", exclusive=False)
    await other_index.register(ROBOTS)
    await other_index.activate([record("loops"), record("arrays")])
    rebuilt = SqlCatalog(database, index_id="rebuilt", exclusive=False)
    assert await revisions(rebuilt) == set()
    assert await rebuilt.records("robots") == []
    await rebuilt.activate([record("loops", "r2"), record("other", lesson_id="id-arrays")])
    assert await revisions(rebuilt) == {"loops-r2", "other-r1"}
    assert await revisions(other_index) == {"loops-r1", "arrays-r1"}, "readers of the other index are served meanwhile"
    await rebuilt.register(ROBOTS)
    assert await revisions(rebuilt) == {"loops-r2", "other-r1"}
    assert await revisions(other_index) == set(), "and switch over all at once"


async def test_a_shared_catalog_sees_what_another_process_changed(database: Database) -> None:
    here = SqlCatalog(database, index_id="i", exclusive=False)
    elsewhere = SqlCatalog(database, index_id="i", exclusive=False)
    await here.register(ROBOTS)
    assert await revisions(here) == set()
    await elsewhere.activate([record("loops")])
    assert await revisions(here) == {"loops-r1"}
    await elsewhere.register(replace(ROBOTS, title="New"))
    assert (await here.book("robots")).title == "New"
    await elsewhere.remove_book("robots")
    assert await revisions(here) == set()


async def test_an_exclusive_catalog_answers_live_and_book_without_asking_the_database(
    database: Database,
) -> None:
    catalog = SqlCatalog(database, index_id="i", exclusive=True)
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops")])
    live, book = await catalog.live("robots"), await catalog.book("robots")
    await database.runner.close()
    with anyio.CancelScope() as scope:
        scope.cancel()  # any wait for the database would end here
        assert await catalog.live("robots") is live
        assert await catalog.book("robots") is book
    assert not scope.cancelled_caught


@pytest.mark.parametrize("exclusive", [True, False])
async def test_an_answer_that_a_change_overtook_is_not_remembered(database: Database, exclusive: bool) -> None:
    slow = SlowDatabase(database)
    catalog = SqlCatalog(slow, index_id="i", exclusive=exclusive)
    await catalog.register(ROBOTS)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(catalog.book, "robots")
        tasks.start_soon(catalog.live, "robots")
        for _ in ("book", "live"):
            await slow.reads.acquire()
        await catalog.activate([record("loops")])
        await catalog.register(replace(ROBOTS, title="New"))
        slow.answer.set()
    assert await revisions(catalog) == {"loops-r1"}
    assert (await catalog.book("robots")).title == "New"


async def test_a_reader_never_sees_half_of_an_activation(database: Database) -> None:
    writer = SqlCatalog(database, index_id="i", exclusive=False)
    reader = SqlCatalog(database, index_id="i", exclusive=False)
    await writer.register(ROBOTS)
    names = [f"lesson-{number}" for number in range(20)]
    await writer.activate([record(name, "r0") for name in names])
    seen: list[frozenset[str]] = []

    async def read() -> None:
        while len(seen) < 1 or {f"{names[0]}-r9"}.isdisjoint(seen[-1]):
            seen.append((await reader.live("robots")).revisions)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        for number in range(1, 10):
            await writer.activate([record(name, f"r{number}") for name in names])
    whole = [frozenset(f"{name}-r{number}" for name in names) for number in range(10)]
    assert set(seen) <= set(whole)


async def test_a_cancelled_activation_is_done_or_not_and_the_catalog_knows_which(database: Database) -> None:
    catalog = SqlCatalog(database, index_id="i", exclusive=True)
    await catalog.register(ROBOTS)
    for number in range(20):
        with anyio.move_on_after(number / 4000):
            await catalog.activate([record("loops", f"r{number}")])
        fresh = SqlCatalog(database, index_id="i", exclusive=True)
        assert await catalog.live("robots") == await fresh.live("robots")


async def test_activations_of_one_book_at_once_all_arrive(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    before = (await catalog.live("robots")).generation
    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(catalog.activate, [record(f"lesson-{number}"), record("contested", f"r{number}")])
    live = await catalog.live("robots")
    assert live.generation == before + 12
    assert len(live.revisions) == 13


async def test_thousands_of_lessons_are_activated_and_withdrawn_in_one_go(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    many = [record(f"lesson-{number}") for number in range(LARGE)]
    await catalog.activate(many)
    await catalog.activate(many)
    assert len(await revisions(catalog)) == LARGE
    await catalog.withdraw("robots", [lesson.source_file for lesson in many[1:]])
    assert await revisions(catalog) == {"lesson-0-r1"}
