"""What the port `Catalog` promises."""

from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.domain.books import Book, LessonPosition, Module
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.jobs import LessonRecord
from bookwise.ports import Catalog
from tests.support.catalogs import NOON, ROBOTS, record, revisions

pytestmark = pytest.mark.anyio


async def test_a_book_comes_back_as_it_was_registered(catalog: Catalog) -> None:
    plain = Book(id="plain", title="Plain")
    await catalog.register(ROBOTS)
    await catalog.register(plain)
    assert await catalog.book("robots") == ROBOTS
    assert await catalog.book("plain") == plain
    assert await catalog.books() == [plain, ROBOTS]


async def test_books_are_listed_in_the_order_of_their_ids_on_every_database(catalog: Catalog) -> None:
    ids = ["b", "B", "a-1", "a_1", "a1", "é", "A", "ä"]
    for book_id in ids:
        await catalog.register(Book(id=book_id, title=book_id))
    assert [book.id for book in await catalog.books()] == sorted(ids)


async def test_registering_again_updates_the_facts_and_keeps_the_lessons(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops")])
    await catalog.mark_ingested("robots", "full", NOON)
    assert await catalog.book("robots") == ROBOTS
    changed = replace(ROBOTS, title="Robots, second edition", modules=(), calibration=None, embedder="other")
    await catalog.register(changed)
    assert await catalog.book("robots") == changed
    assert await catalog.records("robots") == [record("loops")]
    assert await catalog.last_ingested("robots") == (NOON, None)


async def test_an_absent_book_is_not_found(catalog: Catalog) -> None:
    with pytest.raises(NotFound, match="robots"):
        await catalog.book("robots")
    with pytest.raises(NotFound, match="robots"):
        await catalog.mark_ingested("robots", "full", NOON)
    with pytest.raises(NotFound, match="robots"):
        await catalog.activate([record("loops")])


async def test_an_absent_book_has_no_lessons_and_was_never_ingested(catalog: Catalog) -> None:
    assert await catalog.records("robots") == []
    assert await catalog.last_ingested("robots") == (None, None)
    assert (await catalog.live("robots")).revisions == frozenset()
    await catalog.withdraw("robots", ["loops.md"])
    await catalog.register(ROBOTS)
    assert (await catalog.live("robots")).generation > 0


async def test_readers_see_what_was_activated(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    assert await revisions(catalog) == set()
    await catalog.activate([record("loops"), record("arrays")])
    assert await revisions(catalog) == {"loops-r1", "arrays-r1"}
    assert await catalog.records("robots") == [record("arrays"), record("loops")]


async def test_the_book_of_a_chunk_is_found_among_the_live_lessons(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    loops = replace(record("loops"), chunk_ids=("loops-1", "loops-2"))
    await catalog.activate([loops, replace(record("odd"), chunk_ids=('100%_"\\',))])
    assert await catalog.books_with_chunk("loops-2") == ["robots"]
    assert await catalog.books_with_chunk('100%_"\\') == ["robots"]
    for absent in ("loops", "loops-_", "%", ""):
        assert await catalog.books_with_chunk(absent) == []
    await catalog.withdraw("robots", [loops.source_file])
    assert await catalog.books_with_chunk("loops-2") == []


async def test_a_record_comes_back_exactly_with_its_time_in_utc(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    local = NOON.astimezone(timezone(timedelta(hours=-11)))
    odd = replace(
        record("odd"),
        source_file="Kapitel 1/'; DROP TABLE lessons; --/ünï “q” 100%.md",
        title="<script>\n\t\\u0000 𝔘\u202e</script>",
        chunk_ids=(),
        position=LessonPosition(module="", chapter=2**40, lesson=0),
        ingested_at=local,
    )
    await catalog.activate([odd])
    [stored] = await catalog.records("robots")
    assert stored == odd
    assert stored.ingested_at.utcoffset() == timedelta(0)


async def test_a_lesson_with_the_same_source_file_is_replaced(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops"), record("arrays")])
    await catalog.activate([record("loops", "r2", lesson_id="another")])
    assert await revisions(catalog) == {"loops-r2", "arrays-r1"}


async def test_a_lesson_with_the_same_id_is_replaced(
    catalog: Catalog,
) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops")])
    await catalog.activate([record("while-loops", lesson_id="id-loops")])
    assert await revisions(catalog) == {"while-loops-r1"}


async def test_two_lessons_can_swap_their_files_in_one_activation(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops", lesson_id="one"), record("arrays", lesson_id="two")])
    await catalog.activate([record("loops", "r2", lesson_id="two"), record("arrays", "r2", lesson_id="one")])
    assert await revisions(catalog) == {"loops-r2", "arrays-r2"}


async def test_the_same_file_in_another_book_is_another_lesson(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.register(Book(id="rust", title="Rust"))
    await catalog.activate([record("loops"), record("loops", "r9", book="rust")])
    assert await revisions(catalog) == {"loops-r1"}
    assert await revisions(catalog, "rust") == {"loops-r9"}
    await catalog.withdraw("rust", ["loops.md"])
    assert await revisions(catalog) == {"loops-r1"}
    assert await revisions(catalog, "rust") == set()


async def test_all_records_are_activated_or_none(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops")])
    before = await catalog.live("robots")
    with pytest.raises(NotFound):
        await catalog.activate([record("loops", "r2"), record("other", book="unregistered")])
    with pytest.raises(InvalidInput):
        await catalog.activate([record("loops", "r2"), replace(record("bad"), title="a\x00b")])
    assert await catalog.live("robots") == before
    assert await catalog.records("robots") == [record("loops")]


@pytest.mark.parametrize("twin", [record("loops", "r2", lesson_id="x"), record("other", lesson_id="id-loops")])
async def test_two_lessons_of_one_activation_cannot_take_the_same_place(catalog: Catalog, twin: LessonRecord) -> None:
    await catalog.register(ROBOTS)
    with pytest.raises(InvalidInput, match="same"):
        await catalog.activate([record("loops"), twin])
    assert await revisions(catalog) == set()


async def test_withdrawn_lessons_are_gone_and_unknown_ones_do_nothing(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record(name) for name in ("loops", "arrays", "maps")])
    await catalog.withdraw("robots", ["loops.md", "maps.md", "never-seen.md"])
    assert await revisions(catalog) == {"arrays-r1"}
    assert await catalog.records("robots") == [record("arrays")]


async def test_the_generation_grows_with_every_change_and_only_then(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    seen = [(await catalog.live("robots")).generation]
    for change in (
        lambda: catalog.activate([record("loops")]),
        lambda: catalog.activate([record("loops", "r2")]),
        lambda: catalog.withdraw("robots", ["loops.md"]),
    ):
        await change()
        seen.append((await catalog.live("robots")).generation)
        assert (await catalog.live("robots")).generation == seen[-1]
    assert seen == sorted(set(seen))
    await catalog.activate([])
    await catalog.withdraw("robots", [])
    assert (await catalog.live("robots")).generation == seen[-1]


async def test_asking_again_for_an_unchanged_book_gives_the_same_snapshot(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    await catalog.activate([record("loops")])
    assert await catalog.live("robots") is await catalog.live("robots")


async def test_a_removed_book_is_forgotten_with_its_lessons_but_its_jobs_stay(
    catalog: Catalog, database: Database
) -> None:
    jobs = SqlJobs(database)
    job = await jobs.open("robots", "full", "/srv/robots")
    await catalog.register(ROBOTS)
    await catalog.register(Book(id="rust", title="Rust"))
    await catalog.activate([record("loops"), record("loops", book="rust")])
    assert await catalog.book("robots") == ROBOTS
    assert await revisions(catalog) == {"loops-r1"}
    await catalog.remove_book("robots")
    await catalog.remove_book("robots")
    with pytest.raises(NotFound):
        await catalog.book("robots")
    assert [book.id for book in await catalog.books()] == ["rust"]
    assert await catalog.records("robots") == []
    assert await revisions(catalog) == set()
    assert await revisions(catalog, "rust") == {"loops-r1"}
    assert await jobs.job(job.job_id) == job


async def test_a_book_registered_anew_never_repeats_a_generation(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    for number in range(5):
        await catalog.activate([record("loops", f"r{number}")])
    old = await catalog.live("robots")
    await catalog.register(Book(id="short-lived", title="Short-lived"))
    await catalog.remove_book("robots")
    await catalog.remove_book("short-lived")
    await catalog.register(ROBOTS)
    assert (await catalog.live("robots")).generation > old.generation
    assert await revisions(catalog) == set()


async def test_full_and_incremental_ingests_are_remembered_apart(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    assert await catalog.last_ingested("robots") == (None, None)
    await catalog.mark_ingested("robots", "full", NOON)
    await catalog.mark_ingested("robots", "incremental", NOON + timedelta(hours=1))
    assert await catalog.last_ingested("robots") == (NOON, NOON + timedelta(hours=1))
    await catalog.mark_ingested("robots", "recreate", NOON + timedelta(days=1))
    full, incremental = await catalog.last_ingested("robots")
    assert (full, incremental) == (NOON + timedelta(days=1), NOON + timedelta(hours=1))
    assert full is not None
    assert full.utcoffset() == timedelta(0)


async def test_a_time_without_a_zone_is_refused(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    with pytest.raises(InvalidInput, match="time zone"):
        await catalog.mark_ingested("robots", "full", NOON.replace(tzinfo=None))


@pytest.mark.parametrize("code", [0, 0xD800, 0xDCFF], ids=["nul", "surrogate", "undecodable-byte"])
async def test_what_one_database_cannot_hold_is_refused_by_all(catalog: Catalog, code: int) -> None:
    character = chr(code)
    for book in (
        replace(ROBOTS, title=f"a{character}b"),
        replace(ROBOTS, modules=(Module(name="m", aliases=(f"x{character}",)),)),
    ):
        with pytest.raises(InvalidInput, match=f"U\\+{code:04X}"):
            await catalog.register(book)
    await catalog.register(replace(ROBOTS, source=f"/srv/{character}"))
    assert (await catalog.book("robots")).source == f"/srv/\\u{code:04x}"


async def test_a_number_too_large_to_store_is_refused(catalog: Catalog) -> None:
    await catalog.register(ROBOTS)
    huge = replace(record("loops"), position=LessonPosition(module="m", chapter=2**70))
    with pytest.raises(InvalidInput, match="too large"):
        await catalog.activate([huge])
    assert await revisions(catalog) == set()
