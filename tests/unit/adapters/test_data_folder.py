"""One process at a time in a data folder."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.domain.errors import DataFolderBusy, DiskFull, Misconfigured

HOLD = """
import sys, time
from collections.abc import Iterator
from pathlib import Path
from bookwise.adapters.data_folder import lock_data_folder
with lock_data_folder(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_the_error_of_a_second_process_names_the_holder(tmp_path: Path) -> None:
    with (
        lock_data_folder(tmp_path / "data"),
        pytest.raises(DataFolderBusy, match=f"process {os.getpid()}") as caught,
        lock_data_folder(tmp_path / "data"),
    ):
        pass
    assert "BOOKWISE_DATA_DIR" in caught.value.advice


def test_the_folder_is_free_again_afterwards(tmp_path: Path) -> None:
    for _ in range(2):
        with lock_data_folder(tmp_path / "data"):
            pass


@pytest.mark.slow
def test_a_killed_holder_leaves_no_lock_behind(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "locked\n"
    with pytest.raises(DataFolderBusy, match=f"process {other.pid}"), lock_data_folder(tmp_path):
        pass
    other.send_signal(signal.SIGKILL)
    other.communicate()
    with lock_data_folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_created_is_misconfigured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="cannot be used"), lock_data_folder(tmp_path / "file" / "data"):
        pass


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOLCK, Misconfigured), (errno.ENOSPC, DiskFull)])
def test_a_folder_that_cannot_be_locked_is_not_a_bug(
    number: int, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)  # only a file system on a network refuses locks
    with pytest.raises(kind) as caught, lock_data_folder(tmp_path):
        pass
    assert type(caught.value) is kind


def modes(folder: Path) -> dict[str, str]:
    """The permissions of a folder and all that is in it."""
    paths = [folder, *folder.rglob("*")]
    return {str(path.relative_to(folder)): oct(path.stat().st_mode & 0o777) for path in paths}


def old_folder(folder: Path) -> Path:
    """A data folder that any local user can read."""
    for name in ("lock", "bookwise.db", "bookwise.db-wal", "index/a-1/segments/b/id.dat", "sites/c/page.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
        (folder / name).chmod(0o644)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_no_other_user_can_read_a_new_folder_or_what_is_written_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "parent" / "data"
    with lock_data_folder(folder):
        (folder / "index").mkdir()
        (folder / "index" / "file").write_text("")
    assert modes(folder) == {
        ".": "0o700",
        "lock": "0o600",
        "index": "0o700",
        "index/file": "0o600",
    }
    assert oct(folder.parent.stat().st_mode & 0o777) == "0o755", "the folder above is the user's"
    assert os.umask(0o022) == 0o022, "files that are written afterwards are as usual"


@pytest.mark.usefixtures("usual_umask")
def test_the_last_of_two_open_folders_ends_the_privacy(tmp_path: Path) -> None:
    first, second = lock_data_folder(tmp_path / "first"), lock_data_folder(tmp_path / "second")
    with second:
        first.__enter__()
    assert os.umask(0o077) == 0o077
    first.__exit__(None, None, None)
    assert os.umask(0o022) == 0o022


@pytest.mark.usefixtures("usual_umask")
def test_an_old_folder_is_closed_to_other_users(tmp_path: Path) -> None:
    folder = old_folder(tmp_path / "data")
    with lock_data_folder(folder):
        seen = modes(folder)
    assert set(seen.values()) == {"0o700", "0o600"}
    assert {name for name, mode in seen.items() if mode == "0o700"} >= {".", "index/a-1/segments/b", "sites/c"}


@pytest.mark.usefixtures("usual_umask")
def test_what_is_not_ours_is_left_as_it_is(tmp_path: Path) -> None:
    folder = old_folder(tmp_path / "home")
    (folder / "letter.txt").write_text("")
    (folder / "photos").mkdir()
    (folder / "photos" / "cat.jpg").write_text("")
    outside = tmp_path / "outside.html"
    outside.write_text("")
    (folder / "sites" / "link").symlink_to(outside)
    with lock_data_folder(folder):
        seen = modes(folder)
    assert {name: seen[name] for name in (".", "letter.txt", "photos", "photos/cat.jpg")} == {
        ".": "0o755",
        "letter.txt": "0o644",
        "photos": "0o755",
        "photos/cat.jpg": "0o644",
    }
    assert (seen["bookwise.db"], seen["index"], seen["sites/c/page.html"]) == ("0o600", "0o700", "0o600")
    assert oct(outside.stat().st_mode & 0o777) == "0o644"


def test_a_folder_that_cannot_be_closed_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = old_folder(tmp_path / "data")
    monkeypatch.setattr(os, "chmod", lambda *_, **__: None)  # as on a file system without permissions
    with lock_data_folder(folder):
        pass
    assert f"Other users can read the data folder {folder}" in caplog.text
