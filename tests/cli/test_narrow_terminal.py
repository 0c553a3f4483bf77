"""At 80 columns every id, name and value can be read in full."""

from pathlib import Path

import pytest

from tests.support.apps import write_book
from tests.support.command_line import CommandLine

BOOK_ID = "a-rather-long-book-id-that-a-publisher-might-well-choose"
KEY_NAME = "the course website of the department of mechanical engineering"
ORIGIN = "https://a-long-host-name.of-the-department.university.example:8443"


@pytest.fixture
def narrow(bookwise: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("COLUMNS", "80")
    root = write_book(tmp_path / "a-folder-with-a-long-name-as-they-occur", {"01-arms.md": "# Arms\n\nSix joints.\n"})
    (root / "02-broken.md").write_bytes(b"\xff\xfe\x00")
    assert bookwise("ingest", str(root), "--book", BOOK_ID) == 1
    return bookwise


def test_books_shows_every_value_in_full(narrow: CommandLine, tmp_path: Path) -> None:
    assert narrow("books") == 0
    for value in (BOOK_ID, "1 lesson,", "hashing", str(tmp_path / "a-folder-with-a-long-name-as-they-occur")):
        assert value in narrow.out


def test_jobs_shows_every_value_in_full(narrow: CommandLine) -> None:
    assert narrow("jobs") == 0
    for value in ("Job 1", BOOK_ID, "incremental", "completed", "1 lesson published", "1 failed"):
        assert value in narrow.out
    assert narrow("jobs", "1") == 0
    assert "02-broken.md" in narrow.out


def test_keys_shows_every_value_in_full(narrow: CommandLine) -> None:
    key = narrow.json("keys", "create", KEY_NAME, "--book", BOOK_ID, "--origin", ORIGIN)["key"]
    assert narrow("keys", "list") == 0
    for value in (key["id"], KEY_NAME, BOOK_ID, ORIGIN, "reader", "100 requests per minute"):
        assert value in narrow.out


def test_config_shows_every_value_in_full(narrow: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://a-long-host-name.of-the-department.university.example/v1")
    settings = narrow.json("config", "show")["settings"]
    assert narrow("config", "show") == 0
    for setting in settings:
        assert f"{setting['name']}={setting['value']}\n" in narrow.out
        assert f"{setting['description']} ({setting['source']})" in narrow.out


def test_no_line_of_the_output_is_filled_with_blanks(narrow: CommandLine) -> None:
    for command in (["books"], ["jobs"], ["config", "show"]):
        narrow(*command)
        assert not [line for line in narrow.out.splitlines() if line != line.rstrip()]
