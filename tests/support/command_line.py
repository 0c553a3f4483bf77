"""Command lines → exit codes and what was printed, without a process."""

import json
from pathlib import Path
from typing import Any

import pytest

from bookwise.cli.main import run_with


class CommandLine:
    """Runs command lines on one data folder and remembers what they printed."""

    def __init__(self, capfd: pytest.CaptureFixture[str], data: Path) -> None:
        self._capfd, self.data = capfd, data
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        self._capfd.readouterr()
        code = run_with(["--data-dir", str(self.data), *arguments])
        self.out, self.err = self._capfd.readouterr()
        return code

    def json(self, *arguments: str, ends_with: int = 0) -> Any:
        assert self(*arguments, "--json") == ends_with, self.err or self.out
        return json.loads(self.out)
