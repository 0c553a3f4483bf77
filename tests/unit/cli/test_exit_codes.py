"""An exception that the operating system caused is not a bug."""

import errno
import os

import pytest

from bookwise.cli import main
from bookwise.cli.main import run_with


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (MemoryError(), 5, "memory"),
        (OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)), 5, "memory"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), 5, "ulimit -n"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), 6, "disk is full"),
        (OSError(errno.EIO, os.strerror(errno.EIO)), 6, "disk failed"),
        (OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)), 6, "locks"),
        (ZeroDivisionError(), 70, "bug"),
    ],
)
def test_each_cause_has_its_exit_code_and_message(
    error: Exception, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> None:
        raise error

    monkeypatch.setattr(main, "program", fail)
    assert run_with(["books"]) == code
    assert said in capsys.readouterr().err
