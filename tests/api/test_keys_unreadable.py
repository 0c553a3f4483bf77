"""When the keys cannot be read, no one is let in, and the service says that it is not the caller's fault."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.support.databases import migrated_postgres, postgres  # noqa: F401 - fixtures
from tests.support.http_service import Opened, http_service
from tests.support.postgres import Postgres
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

PAGE = "https://book.example"


@pytest.fixture
async def locked(tmp_path: Path) -> AsyncIterator[Opened]:
    async with http_service(settings_for(tmp_path / "data", embedder="hashing"), open_to_anyone=False) as opened:
        yield opened


def run(data: Path, statement: str) -> None:
    with sqlite3.connect(data / "bookwise.db") as connection:
        connection.execute(statement)


async def statuses(opened: Opened, headers: dict[str, str]) -> list[tuple[int, str]]:
    """With and without an origin: for an unknown one the keys are read too."""
    requests = [("GET", "/books", None), ("POST", "/chat/run", {"message": "hi"}), ("POST", "/mcp", {})]
    found = []
    for method, path, body in requests:
        for more in ({}, {"Origin": PAGE}):
            answer = await opened.client.request(method, path, json=body, headers={**headers, **more})
            found.append((answer.status_code, answer.json()["code"]))
            assert int(answer.headers["retry-after"]) > 0
    return found


async def test_a_key_table_that_is_gone_is_no_bug(locked: Opened, tmp_path: Path) -> None:
    headers = await locked.key()
    run(tmp_path / "data", "ALTER TABLE api_keys RENAME TO taken_away")
    assert set(await statuses(locked, headers)) == {(503, "store-unavailable")}
    preflight = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    assert (await locked.client.options("/chat/run", headers=preflight)).status_code == 405
    run(tmp_path / "data", "ALTER TABLE taken_away RENAME TO api_keys")
    assert (await locked.client.get("/books", headers=headers)).status_code == 200


async def test_a_page_whose_key_was_known_can_read_the_problem(locked: Opened, tmp_path: Path) -> None:
    _, secret = await locked.service.keys.create("widget", "reader", origins=[PAGE])
    headers = {"Authorization": f"Bearer {secret}", "Origin": PAGE}
    assert (await locked.client.get("/books", headers=headers)).status_code == 200
    run(tmp_path / "data", "ALTER TABLE api_keys RENAME TO taken_away")
    answer = await locked.client.get("/books", headers=headers)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (503, PAGE)


async def test_keys_that_the_database_does_not_let_the_service_read_are_no_bug(
    tmp_path: Path,
    postgres: Postgres,  # noqa: F811
    migrated_postgres: str,  # noqa: F811
) -> None:
    with postgres.new_database(like=migrated_postgres) as url, limited_role(url) as role:
        settings = settings_for(tmp_path / "data", embedder="hashing", database_url=f"{url}&options=-crole%3D{role}")
        async with http_service(settings, open_to_anyone=False) as opened:
            headers = await opened.key()
            assert (await opened.client.get("/books", headers=headers)).status_code == 200
            administer(url, f"REVOKE ALL ON api_keys FROM {role}")
            assert set(await statuses(opened, headers)) == {(503, "store-unavailable")}


@contextmanager
def limited_role(url: str) -> Iterator[str]:
    """A role that may use all tables, without owning them."""
    role = f"limited_{uuid4().hex}"
    rights = [f"GRANT ALL ON ALL {kind} IN SCHEMA public TO {role}" for kind in ("TABLES", "SEQUENCES", "FUNCTIONS")]
    administer(url, f"CREATE ROLE {role}", f"GRANT ALL ON SCHEMA public TO {role}", *rights)
    try:
        yield role
    finally:
        administer(url, f"DROP OWNED BY {role}", f"DROP ROLE {role}")


def administer(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)
