"""A database URL → an address with a name that is safe to show."""

from pathlib import Path
from traceback import format_exception

import pytest

from bookwise.adapters.sql.address import parse_address, sqlite_url
from bookwise.domain.errors import Misconfigured


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg", "POSTGRES"])
def test_every_spelling_of_postgresql_is_one_address(scheme: str) -> None:
    address = parse_address(f"{scheme}://ann:p%40ss@db.example:6543/books")
    assert address.kind == "postgresql"
    assert address.location == "postgresql://ann:p%40ss@db.example:6543/books"
    assert address.name == "PostgreSQL books at db.example:6543"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ann:@/books?host=/run/pg", "PostgreSQL books at /run/pg"),
        ("postgresql:///books?host=/run/pg", "PostgreSQL books at /run/pg"),
        ("postgresql://%2Frun%2Fpg/books", "PostgreSQL books at /run/pg"),
        ("postgresql://a:b@one:5432,two:5433/books", "PostgreSQL books at one:5432,two:5433"),
        ("postgresql://a:b@[::1]:5432/books", "PostgreSQL books at [::1]:5432"),
        ("postgresql://", "PostgreSQL the default database at the local socket"),
    ],
)
def test_sockets_clusters_and_ipv6_have_names_too(url: str, name: str) -> None:
    assert parse_address(url).name == name


def test_options_of_other_drivers_are_translated_or_left_out() -> None:
    url = "postgresql+asyncpg://a:b@h/d?ssl=require&statement_cache_size=0&application_name=x"
    assert parse_address(url).location == "postgresql://a:b@h/d?application_name=x&sslmode=require"


def test_options_of_hosted_databases_reach_the_driver() -> None:
    url = "postgresql://a:b@ep-x-pooler.eu.example/d?sslmode=require&channel_binding=require&connect_timeout=3"
    assert parse_address(url).location == url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2@h/d",
        "postgresql://h/d?user=ann&password=hunter2",
        "postgresql://ann:%68unter2@h/d",
    ],
)
def test_an_address_never_shows_its_password(url: str) -> None:
    address = parse_address(url)
    assert address.secret == "hunter2"
    assert "hunter2" not in f"{address!r} {address} {address.name}"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:hunter2#x@h/d",
        "postgresql://ann:hunter2/x@h/d",
        "postgresql://ann:hunter2?x@h/d",
        "postgresql://ann:12345?hunter2@h/d",
        "postgresql://ann:hunter2@x@h/d",
        "postgresql://ann:x@h:hunter2/d",
        "postgresql://ann:x@[hunter2/d",
        "postgresql://ann:x@h:1:hunter2/d",
        "mysql://ann:hunter2@h/d",
        "hunter2",
        "",
    ],
)
def test_a_url_that_cannot_be_read_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        parse_address(url)
    error = caught.value
    assert error.advice
    output = "".join(format_exception(error))
    assert "hunter2" not in output
    assert "12345" not in output


@pytest.mark.parametrize("name", ["a.db", "with space.db", "100%.db", "a?b#c&d.db", "%41.db", "ü 机.db"])
def test_the_url_of_a_sqlite_file_leads_back_to_it_whatever_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    assert parse_address(sqlite_url(path)).location == str(path)


def test_a_relative_sqlite_file_keeps_its_place_when_the_folder_changes() -> None:
    assert parse_address("sqlite+aiosqlite:///data/b.db").location == str(Path.cwd() / "data" / "b.db")


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite:///file:x?mode=ro"])
def test_a_sqlite_database_is_a_file(url: str) -> None:
    with pytest.raises(Misconfigured, match="does not name a SQLite file"):
        parse_address(url)
