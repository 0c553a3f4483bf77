"""What the tests of commands share."""

from pathlib import Path

import pytest

from tests.support.command_line import CommandLine


@pytest.fixture
def bookwise(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """`bookwise …` on a data folder of its own, with the test embedder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "hashing")
    return CommandLine(capfd, tmp_path / "data")
