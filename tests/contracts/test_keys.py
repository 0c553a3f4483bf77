"""What the port `KeyStore` promises."""

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from sqlalchemy import Connection, select

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.keys import SqlKeys
from bookwise.adapters.sql.tables import metadata
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.access import ApiKey
from bookwise.domain.errors import Conflict, DamagedData, InvalidInput, NotFound
from bookwise.ports import KeyStore
from tests.support.talks import WallClock

pytestmark = pytest.mark.anyio

NO_KEY = "key_0123456789ab"


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def keys(database: Database, clock: WallClock) -> KeyStore:
    return SqlKeys(database, clock=clock)


async def test_a_new_key_is_found_by_its_secret_with_all_it_may_do(keys: KeyStore, clock: WallClock) -> None:
    created, secret = await keys.create(
        "  Kurs „Robotik“ ",
        "reader",
        books=["robots", "rust-2", "robots"],
        origins=["https://book.example", "http://localhost:3000"],
        rate_per_minute=7,
    )
    assert created == ApiKey(
        id=created.id,
        name="Kurs „Robotik“",
        role="reader",
        books=("robots", "rust-2"),
        origins=("https://book.example", "http://localhost:3000"),
        rate_per_minute=7,
        streams_at_once=10,
        created_at=clock.now,
    )
    assert await keys.key(secret) == created
    assert await keys.keys() == [created]


async def test_a_key_with_no_further_words_sees_all_books_at_a_hundred_requests_a_minute(keys: KeyStore) -> None:
    created, _ = await keys.create("operator", "admin")
    assert (created.role, created.books, created.origins, created.rate_per_minute) == ("admin", (), (), 100)


async def test_ids_and_secrets_have_their_shape_and_no_two_are_alike(keys: KeyStore) -> None:
    created = [await keys.create("same name", "reader") for _ in range(20)]
    assert all(re.fullmatch(r"bw_[A-Za-z0-9_-]{43}", secret) for _, secret in created)
    assert all(re.fullmatch(r"key_[0-9a-f]{12}", key.id) for key, _ in created)
    assert len({secret for _, secret in created}) == len({key.id for key, _ in created}) == 20
    assert not any(key.id[4:] in secret for key, secret in created)


async def test_keys_are_listed_oldest_first_revoked_ones_too(keys: KeyStore, clock: WallClock) -> None:
    created = []
    for number in range(12):
        created.append((await keys.create(f"key {number}", "reader"))[0])
        clock.move(1)
    revoked = await keys.revoke(created[3].id)
    assert await keys.keys() == [*created[:3], revoked, *created[4:]]


@pytest.mark.parametrize(
    "secret",
    ["", "bw_", "bw_" + "A" * 43, "' OR '1'='1", "bw_" + "é" * 43, "bw_\x00" + "A" * 42, "\ud800", "x" * 1_000_000],
    ids=["empty", "prefix", "another", "sql", "accents", "nul", "surrogate", "megabyte"],
)
async def test_what_is_no_secret_of_a_key_finds_none(keys: KeyStore, secret: str) -> None:
    await keys.create("only one", "admin")
    assert await keys.key(secret) is None


async def test_a_secret_that_is_changed_in_any_place_finds_nothing(keys: KeyStore) -> None:
    created, secret = await keys.create("exact", "reader")
    assert await keys.key(created.id) is None
    for wrong in (secret[:-1], secret + "A", f" {secret}", f"{secret}\n", secret.swapcase(), secret[3:]):
        assert await keys.key(wrong) is None, wrong
    assert await keys.key(secret) == created


async def test_a_revoked_key_stops_working_at_once_and_the_others_go_on(keys: KeyStore, clock: WallClock) -> None:
    lost, lost_secret = await keys.create("lost", "admin")
    kept, kept_secret = await keys.create("kept", "reader")
    clock.move(60)
    revoked = await keys.revoke(lost.id)
    assert (revoked.id, revoked.revoked_at) == (lost.id, lost.created_at + timedelta(seconds=60))
    assert await keys.key(lost_secret) is None
    assert await keys.key(kept_secret) == kept


async def test_another_process_sees_the_revocation_with_its_next_request(migrated_url: str) -> None:
    async with open_database(migrated_url) as here, open_database(migrated_url) as there:
        created, secret = await SqlKeys(here).create("shared", "reader")
        assert await SqlKeys(there).key(secret) == created
        await SqlKeys(here).revoke(created.id)
        assert await SqlKeys(there).key(secret) is None


async def test_revoking_twice_keeps_the_first_time(keys: KeyStore, clock: WallClock) -> None:
    created, _ = await keys.create("lost", "reader")
    first = await keys.revoke(created.id)
    clock.move(60)
    assert await keys.revoke(created.id) == first


async def test_rotating_gives_the_same_key_a_new_secret_and_ends_the_old_one(keys: KeyStore) -> None:
    created, old = await keys.create(
        "site", "reader", books=["robots"], origins=["https://a.example"], rate_per_minute=5
    )
    rotated, new = await keys.rotate(created.id)
    assert rotated == created
    assert old != new
    assert await keys.key(old) is None
    assert await keys.key(new) == created
    assert await keys.keys() == [created]


async def test_within_the_grace_period_both_secrets_find_the_key_and_then_only_the_new_one(
    keys: KeyStore, clock: WallClock
) -> None:
    created, old = await keys.create("site", "reader", books=["robots"])
    rotated, new = await keys.rotate(created.id, grace_seconds=3600)
    assert rotated == replace(created, previous_until=clock.now + timedelta(hours=1))
    clock.move(3599.999)
    assert await keys.key(old) == await keys.key(new) == rotated
    clock.move(0.001)
    assert await keys.key(old) is None
    assert await keys.key(new) == rotated


async def test_a_second_rotation_ends_the_secret_before_the_last_one(keys: KeyStore) -> None:
    created, first = await keys.create("site", "reader")
    _, second = await keys.rotate(created.id, grace_seconds=3600)
    _, third = await keys.rotate(created.id, grace_seconds=60)
    assert [await keys.key(secret) is not None for secret in (first, second, third)] == [False, True, True]
    last, fourth = await keys.rotate(created.id)
    assert last == created
    assert [await keys.key(secret) is not None for secret in (second, third, fourth)] == [False, False, True]


async def test_revoking_ends_the_old_secret_too_whatever_its_grace(keys: KeyStore) -> None:
    created, old = await keys.create("lost", "admin")
    _, new = await keys.rotate(created.id, grace_seconds=3600)
    revoked = await keys.revoke(created.id)
    assert await keys.key(old) is None
    assert await keys.key(new) is None
    assert revoked.previous_until is None


async def test_another_process_accepts_both_secrets_within_the_grace_period(migrated_url: str) -> None:
    async with open_database(migrated_url) as here, open_database(migrated_url) as there:
        created, old = await SqlKeys(here).create("shared", "reader")
        rotated, new = await SqlKeys(here).rotate(created.id, grace_seconds=3600)
        assert await SqlKeys(there).key(old) == await SqlKeys(there).key(new) == rotated


@pytest.mark.parametrize("grace", [-1.0, 90 * 24 * 3600 + 1, float("inf"), float("nan")])
async def test_a_grace_period_out_of_bounds_is_refused_and_changes_nothing(keys: KeyStore, grace: float) -> None:
    created, secret = await keys.create("site", "reader")
    with pytest.raises(InvalidInput, match="90 days"):
        await keys.rotate(created.id, grace_seconds=grace)
    assert await keys.key(secret) == created


async def test_what_a_key_owns_it_still_owns_after_rotation(keys: KeyStore, database: Database) -> None:
    created, _ = await keys.create("site", "reader")
    threads = SqlThreads(database)
    thread = await threads.create(book_id="robots", owner=created.id)
    _, secret = await keys.rotate(created.id)
    owner = await keys.key(secret)
    assert owner is not None
    assert await threads.thread(thread.id, owner=owner.id) == thread


@pytest.mark.parametrize(("grace", "work"), [(0, 1), (3600, 2)])
async def test_of_twenty_rotations_at_once_the_last_secret_works_and_within_grace_the_one_before(
    keys: KeyStore, grace: float, work: int
) -> None:
    created, first = await keys.create("busy", "reader")
    new_secrets: list[str] = []

    async def rotate() -> None:
        new_secrets.append((await keys.rotate(created.id, grace_seconds=grace))[1])

    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(rotate)
    working = [secret for secret in (first, *new_secrets) if await keys.key(secret)]
    assert len(working) == work
    assert set(working) <= set(new_secrets)


async def test_a_revoked_key_cannot_be_rotated_back_to_life(keys: KeyStore) -> None:
    created, old = await keys.create("lost", "admin")
    revoked = await keys.revoke(created.id)
    with pytest.raises(Conflict, match="revoked") as caught:
        await keys.rotate(created.id)
    assert caught.value.advice
    assert await keys.key(old) is None
    assert await keys.keys() == [revoked]


@pytest.mark.parametrize("key_id", [NO_KEY, "", "1 OR 1=1", "key_\x00", "\ud800"])
async def test_a_key_that_does_not_exist_can_be_neither_revoked_nor_rotated(keys: KeyStore, key_id: str) -> None:
    created, secret = await keys.create("innocent", "reader")
    for change in (keys.revoke, keys.rotate):
        with pytest.raises(NotFound, match="no key"):
            await change(key_id)
    assert await keys.key(secret) == created


async def test_a_secret_does_not_pass_for_the_id_of_its_key(keys: KeyStore) -> None:
    _, secret = await keys.create("mixed up", "reader")
    with pytest.raises(NotFound):
        await keys.revoke(secret)
    assert await keys.key(secret) is not None


async def test_a_store_that_had_a_key_knows_it_for_good(keys: KeyStore) -> None:
    assert not await keys.any_ever()
    created, _ = await keys.create("first", "reader")
    assert await keys.any_ever()
    await keys.revoke(created.id)
    assert await keys.any_ever()


@pytest.mark.parametrize("name", ["", "   ", "a" * 101, "two\nlines", "bell\x07", "nul\x00", "\ud800", "\u202eevil"])
async def test_a_name_that_is_not_1_to_100_printable_characters_is_refused(keys: KeyStore, name: str) -> None:
    with pytest.raises(InvalidInput, match="1 to 100 printable"):
        await keys.create(name, "reader")
    assert await keys.keys() == []


async def test_names_may_be_as_long_as_promised_and_need_not_differ(keys: KeyStore) -> None:
    for name in ("机" * 100, "机" * 100, "x"):
        assert (await keys.create(name, "reader"))[0].name == name


@pytest.mark.parametrize("role", ["", "owner", "Admin", "reader "])
async def test_a_role_that_does_not_exist_is_refused(keys: KeyStore, role: Any) -> None:
    with pytest.raises(InvalidInput, match="role"):
        await keys.create("odd", role)


@pytest.mark.parametrize("book", ["", "*", "Robots", "../etc", "a b", "-a", "a" * 65])
async def test_a_book_that_is_no_slug_is_refused_rather_than_taken_for_all_books(keys: KeyStore, book: str) -> None:
    with pytest.raises(InvalidInput, match="id of a book"):
        await keys.create("odd", "reader", books=["robots", book])


@pytest.mark.parametrize(
    "origin",
    [
        "", "*", "null", "book.example", "https://", "https://book.example/", "https://book.example/path",
        "https://book.example?x", "https://a@book.example", "https://*.example", "https://book.example:0",
        "https://book.example:65536", "https://book.example:x", "//book.example", "https://a.example https://b.example",
        "https://b\u00fccher.example",
    ],
)  # fmt: skip
async def test_what_is_no_origin_is_refused(keys: KeyStore, origin: str) -> None:
    with pytest.raises(InvalidInput, match="origin"):
        await keys.create("odd", "reader", origins=[origin])


@pytest.mark.parametrize(
    ("written", "sent_by_browsers"),
    [
        ("HTTPS://Book.Example:443", "https://book.example"),
        ("http://localhost:80", "http://localhost"),
        ("https://book.example:080", "https://book.example:80"),
        ("http://[::1]:3000", "http://[::1]:3000"),
        ("chrome-extension://abcdef", "chrome-extension://abcdef"),
    ],
)
async def test_an_origin_is_kept_as_browsers_send_it(keys: KeyStore, written: str, sent_by_browsers: str) -> None:
    assert (await keys.create("page", "reader", origins=[written]))[0].origins == (sent_by_browsers,)


@pytest.mark.parametrize("rate", [0, -1, 100_001, 10**30])
async def test_a_rate_out_of_bounds_is_refused(keys: KeyStore, rate: int) -> None:
    with pytest.raises(InvalidInput, match="requests per minute is not allowed"):
        await keys.create("fast", "reader", rate_per_minute=rate)


@pytest.mark.parametrize("rate", [1, 100_000])
async def test_the_bounds_of_the_rate_are_allowed(keys: KeyStore, rate: int) -> None:
    assert (await keys.create("bound", "reader", rate_per_minute=rate))[0].rate_per_minute == rate


async def test_keys_survive_closing_and_opening_the_database(migrated_url: str) -> None:
    async with open_database(migrated_url) as database:
        created, secret = await SqlKeys(database).create("kept", "admin", books=["robots"])
    async with open_database(migrated_url) as database:
        assert await SqlKeys(database).key(secret) == created


def everything(connection: Connection) -> str:
    return "\n".join(repr(tuple(row)) for table in metadata.sorted_tables for row in connection.execute(select(table)))


def sqlite_bytes(folder: Path) -> bytes:
    """The file with its write-ahead log; nothing on PostgreSQL."""
    return b"".join(path.read_bytes() for path in folder.glob("bookwise.db*"))


async def test_no_secret_is_anywhere_in_the_database(database: Database, keys: KeyStore, tmp_path: Path) -> None:
    created, first = await keys.create("site", "reader")
    _, second = await keys.rotate(created.id, grace_seconds=60)
    await keys.key(first)
    dump = (await database.read(everything)).encode()
    files = sqlite_bytes(tmp_path)
    assert created.id.encode() in dump
    assert not files or created.id.encode() in files
    for secret in (first, second):
        assert secret[3:].encode() not in dump + files


async def test_errors_and_the_key_itself_never_show_the_secret(keys: KeyStore) -> None:
    created, secret = await keys.create("site", "reader")
    await keys.revoke(created.id)
    with pytest.raises(Conflict) as caught:
        await keys.rotate(created.id)
    assert secret not in f"{created!r} {caught.value!r} {caught.value.advice}"


async def test_keys_that_cannot_be_read_are_damage_and_not_a_bug(keys: KeyStore, database: Database) -> None:
    _, secret = await keys.create("first", "reader")
    await database.write(lambda connection: connection.exec_driver_sql("ALTER TABLE api_keys RENAME TO taken_away"))
    for read in (keys.key(secret), keys.keys(), keys.any_ever()):
        with pytest.raises(DamagedData):
            await read
