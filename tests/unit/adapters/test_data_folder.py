"""One process at a time in a data folder."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.domain.errors import DataFolderBusy, Misconfigured

HOLD = """
import sys, time
from pathlib import Path
from bookwise.adapters.data_folder import lock_data_folder
with lock_data_folder(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_holder_is_told_who_has_it(tmp_path: Path) -> None:
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
    assert other.stdout.readline() == "held\n"
    with pytest.raises(DataFolderBusy, match=f"process {other.pid}"), lock_data_folder(tmp_path):
        pass
    other.send_signal(signal.SIGKILL)
    other.communicate()
    with lock_data_folder(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_is_misconfigured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Misconfigured, match="cannot be used"), lock_data_folder(tmp_path / "file" / "data"):
        pass
