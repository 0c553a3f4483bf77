"""`bookwise keys`: secrets are shown once, lists never hold them, and mistakes are named."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from bookwise.domain.access import ApiKey
from tests.support.apps import hashing_app, write_book
from tests.support.command_line import CommandLine

SECRET = re.compile(r"bw_[A-Za-z0-9_-]{43}")
HOLDER = """
import sys
from pathlib import Path
from bookwise.adapters.data_folder import lock_data_folder
with lock_data_folder(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def key_of(data: Path, secret: str) -> ApiKey | None:
    """What the service would find."""

    async def find() -> ApiKey | None:
        async with hashing_app(data) as app:
            return await app.keys.key(secret)

    return anyio.run(find)


@pytest.fixture
def held_folder(tmp_path: Path) -> Iterator[int]:
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "data")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder.pid
        holder.communicate("")


def test_create_prints_the_secret_alone_on_stdout_and_says_that_it_is_shown_once(bookwise: CommandLine) -> None:
    assert bookwise("keys", "create", "course website") == 0
    secret = bookwise.out.strip()
    assert SECRET.fullmatch(secret)
    assert "only this once" in bookwise.err
    assert secret not in bookwise.err
    key = key_of(bookwise.data, secret)
    assert key is not None
    assert (key.name, key.role, key.books, key.origins, key.rate_per_minute) == (
        "course website",
        "reader",
        (),
        (),
        100,
    )
    assert key.id in bookwise.err


def test_every_option_reaches_the_key(bookwise: CommandLine) -> None:
    made = bookwise.json(
        "keys", "create", "widget", "--role", "admin", "--book", "robots", "--book", "rust", "--rate", "7",
        "--origin", "https://a.example", "--origin", "http://localhost:3000",
    )  # fmt: skip
    assert set(made) == {"key", "secret"}
    assert made["key"]["books"] == ["robots", "rust"]
    key = key_of(bookwise.data, made["secret"])
    assert key is not None
    assert (key.id, key.role, key.books) == (made["key"]["id"], "admin", ("robots", "rust"))
    assert (key.origins, key.rate_per_minute) == (("https://a.example", "http://localhost:3000"), 7)


def test_a_book_that_is_not_there_yet_is_named_and_one_that_is_there_is_not(
    bookwise: CommandLine, tmp_path: Path
) -> None:
    book = write_book(tmp_path / "robots", {"a.md": "# Arms\n\nAn arm has six joints and one hand.\n"})
    assert bookwise("ingest", str(book)) == 0
    assert bookwise("keys", "create", "reader of two", "--book", "robots", "--book", "robotz") == 0
    assert "no book robotz yet" in bookwise.err
    assert "no book robots " not in bookwise.err


def test_the_list_shows_every_key_and_never_a_secret(bookwise: CommandLine) -> None:
    assert bookwise("keys", "list") == 0
    assert "keys create" in bookwise.out
    assert bookwise.json("keys", "list") == {"keys": []}
    made = [bookwise.json("keys", "create", name) for name in ("first", "[bold]")]
    assert bookwise.json("keys", "list") == {"keys": [one["key"] for one in made]}
    assert bookwise("keys", "list") == 0
    for one in made:
        assert one["key"]["id"] in bookwise.out
        assert one["secret"][3:] not in bookwise.out
    assert "[bold]" in bookwise.out


def test_a_revoked_key_stays_in_the_list_and_no_longer_works(bookwise: CommandLine) -> None:
    made = bookwise.json("keys", "create", "lost laptop")
    assert bookwise("keys", "revoke", made["key"]["id"]) == 0
    assert "lost laptop" in bookwise.out
    assert "no longer works" in bookwise.out
    assert key_of(bookwise.data, made["secret"]) is None
    (listed,) = bookwise.json("keys", "list")["keys"]
    assert listed["id"] == made["key"]["id"]
    assert listed["revoked_at"] is not None
    assert bookwise.json("keys", "revoke", made["key"]["id"])["key"] == listed


def test_rotate_prints_a_new_secret_for_the_same_key_and_ends_the_old_one(bookwise: CommandLine) -> None:
    made = bookwise.json("keys", "create", "site", "--book", "robots")
    assert bookwise("keys", "rotate", made["key"]["id"]) == 0
    secret = bookwise.out.strip()
    assert SECRET.fullmatch(secret)
    assert key_of(bookwise.data, made["secret"]) is None
    key = key_of(bookwise.data, secret)
    assert key is not None
    assert (key.id, key.books) == (made["key"]["id"], ("robots",))
    assert SECRET.fullmatch(bookwise.json("keys", "rotate", key.id)["secret"])


@pytest.mark.slow
def test_rotate_without_grace_says_how_to_give_time(bookwise: CommandLine) -> None:
    made = bookwise.json("keys", "create", "site")
    assert bookwise("keys", "rotate", made["key"]["id"]) == 0
    assert "old secret no longer works" in bookwise.err
    assert "--grace 24h" in bookwise.err


@pytest.mark.slow
@pytest.mark.parametrize(("grace", "length"), [("90s", {"seconds": 90}), ("24h", {"hours": 24}), ("7d", {"days": 7})])
def test_with_grace_both_secrets_work_and_the_list_says_until_when(
    bookwise: CommandLine, grace: str, length: dict[str, int]
) -> None:
    made = bookwise.json("keys", "create", "site")
    before = datetime.now(UTC)
    assert bookwise("keys", "rotate", made["key"]["id"], "--grace", grace) == 0
    assert SECRET.fullmatch(bookwise.out.strip())
    said = bookwise.err
    old, new = key_of(bookwise.data, made["secret"]), key_of(bookwise.data, bookwise.out.strip())
    assert old is not None
    assert old == new
    assert old.previous_until is not None
    assert before <= old.previous_until - timedelta(**length) <= datetime.now(UTC)
    until = f"old secret works until {old.previous_until:%Y-%m-%d %H:%M} UTC"
    assert until in said
    assert bookwise("keys", "list") == 0
    assert until in bookwise.out
    (listed,) = bookwise.json("keys", "list")["keys"]
    assert listed["previous_until"] == old.previous_until.isoformat()


@pytest.mark.parametrize("command", ["revoke", "rotate"])
def test_a_key_that_does_not_exist_ends_with_3_and_advice(bookwise: CommandLine, command: str) -> None:
    assert bookwise("keys", command, "key_000000000000") == 3
    assert "no key" in bookwise.err
    assert "keys list" in bookwise.err
    assert bookwise.out == ""


def test_a_revoked_key_cannot_be_rotated(bookwise: CommandLine) -> None:
    made = bookwise.json("keys", "create", "lost")
    bookwise("keys", "revoke", made["key"]["id"])
    assert bookwise("keys", "rotate", made["key"]["id"]) == 4
    assert "revoked" in bookwise.err
    assert bookwise.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["create"],
        ["create", ""],
        ["create", "x", "--role", "owner"],
        ["create", "x", "--book", "Not A Slug"],
        ["create", "x", "--book", ""],
        ["create", "x", "--origin", "book.example/path"],
        ["create", "x", "--rate", "0"],
        ["create", "x", "--rate", "100001"],
        ["create", "x", "--rate", "many"],
        ["revoke"],
        ["rotate"],
        ["rotate", "key_000000000000", "--grace", "soon"],
        ["rotate", "key_000000000000", "--grace", "-1h"],
        ["rotate", "key_000000000000", "--grace", "24"],
        ["rotate", "key_000000000000", "--grace", "91d"],
        ["unknown"],
    ],
)
def test_what_cannot_be_a_key_ends_with_2_and_makes_none(bookwise: CommandLine, arguments: list[str]) -> None:
    assert bookwise("keys", *arguments) == 2
    assert bookwise.err
    assert bookwise.out == ""
    assert bookwise.json("keys", "list") == {"keys": []}


def test_while_another_process_holds_the_data_folder_the_error_names_it(
    bookwise: CommandLine, held_folder: int
) -> None:
    for command in (["create", "x"], ["list"], ["revoke", "key_000000000000"], ["rotate", "key_000000000000"]):
        assert bookwise("keys", *command) == 4
        assert f"process {held_folder}" in bookwise.err
        assert bookwise.out == ""
    assert bookwise("keys", "list", "--json") == 4
    assert json.loads(bookwise.err)["error"]["code"] == "data-folder-busy"
