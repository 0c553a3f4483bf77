"""Commands that need no index do not open it: a large one takes seconds and memory, and a damaged one an error."""

from pathlib import Path

import pytest

from tests.support.apps import write_book
from tests.support.command_line import CommandLine

COMMANDS = [
    ["books"],
    ["jobs"],
    ["config", "show"],
    ["keys", "list"],
    ["keys", "create", "course website"],
    ["keys", "create", "of a book", "--book", "book"],
    ["insights"],
]


@pytest.fixture
def command_line(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "hashing")
    return CommandLine(capfd, tmp_path / "data")


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_damaged_index_does_not_matter(arguments: list[str], command_line: CommandLine, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", {"gears.md": "# Gears\n\nA gear has teeth.\n"})
    assert command_line("ingest", str(root), "--book", "book") == 0
    damage(command_line.data)
    assert command_line("search", "teeth") == 6, "the index is damaged"
    assert command_line(*arguments) == 0, command_line.err


def test_a_key_of_a_damaged_data_folder_can_be_rotated_and_revoked(command_line: CommandLine, tmp_path: Path) -> None:
    root = write_book(tmp_path / "book", {"gears.md": "# Gears\n\nA gear has teeth.\n"})
    assert command_line("ingest", str(root), "--book", "book") == 0
    damage(command_line.data)
    key = command_line.json("keys", "create", "course website")["key"]["id"]
    assert command_line("keys", "rotate", key) == 0
    assert command_line("keys", "revoke", key) == 0


@pytest.mark.parametrize("arguments", [["keys", "list"], ["keys", "create", "course website"]], ids=" ".join)
def test_no_index_is_created(arguments: list[str], command_line: CommandLine) -> None:
    assert command_line(*arguments) == 0
    assert not (command_line.data / "index").exists()


def damage(data: Path) -> None:
    paths = list(data.glob("index/*/books/*/segments/*/segment.json"))
    assert paths
    for path in paths:
        path.write_text("{}")
