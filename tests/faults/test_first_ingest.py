"""The first ingest into a data folder, interrupted at any step: the next one starts again and completes.

FIRST_INGEST_FILE_KILLS=1000 kills at every access to a file; the default is a sample.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.qdrant.collections import IDENTITY_FILE, index_ids
from tests.faults.test_kill import seen, write_book
from tests.support.ingest_child import ingest_in_child
from tests.support.processes import Report, child
from tests.support.program import PROGRAM, environment

pytestmark = pytest.mark.slow

RANDOM_KILLS = int(os.environ.get("FIRST_INGEST_KILLS", "6"))
FILE_KILLS = int(os.environ.get("FIRST_INGEST_FILE_KILLS", "8"))
INTERRUPTS = int(os.environ.get("FIRST_INGEST_INTERRUPTS", "2"))
FILE_EVENTS = ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.listdir", "os.scandir")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first") / "book-folder"
    write_book(folder)
    return folder


def killed_at_file_event(report: Report, root: Path, data: Path, nth: int) -> None:
    """Ingests, and kills itself before it touches the folder of the indexes for the n-th time; writes how often it
    did."""
    seen = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event in FILE_EVENTS and str(arguments[0]).startswith(str(data / "index")):
            seen += 1
            if seen == nth:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    ingest_in_child(report, root, data)
    (data.parent / "events").write_text(str(seen))


def run(work: Callable[..., None], *arguments: object) -> int:
    with child(work, *arguments) as process:
        code, lines = process.ended()
    assert code in (0, -signal.SIGKILL), lines
    return code


def completed(root: Path, data: Path) -> None:
    """A second ingest ends well, and one whole index is left."""
    assert run(ingest_in_child, root, data) == 0
    assert len(anyio.run(seen, data)) == 6
    assert len(index_ids(data / "index")) == len(list((data / "index").iterdir())) == 1


def test_killed_before_any_access_to_a_file_the_next_ingest_completes(root: Path, tmp_path: Path) -> None:
    assert run(killed_at_file_event, root, tmp_path / "whole", 0) == 0
    events = int((tmp_path / "events").read_text())
    assert events > 3
    step = max(1, events // FILE_KILLS)
    for nth in range(1, events, step):
        data = tmp_path / f"data-{nth}"
        assert run(killed_at_file_event, root, data, nth) == -signal.SIGKILL
        completed(root, data)
        shutil.rmtree(data)


def test_killed_at_a_random_moment_the_next_ingest_completes(root: Path, tmp_path: Path) -> None:
    started = time.monotonic()
    run(ingest_in_child, root, tmp_path / "timing")
    whole = time.monotonic() - started
    dice = random.Random(13)
    for kill in range(RANDOM_KILLS):
        data = tmp_path / f"data-{kill}"
        with child(ingest_in_child, root, data) as process:
            wait_for(data / "index")
            time.sleep(dice.uniform(0, whole / 2))
            process.process.kill()
        completed(root, data)


def test_stopped_with_ctrl_c_the_next_ingest_completes(root: Path, tmp_path: Path) -> None:
    dice = random.Random(13)
    for interrupt in range(INTERRUPTS):
        data = tmp_path / f"data-{interrupt}"
        with subprocess.Popen(
            [PROGRAM, "ingest", str(root), "--book", "book"],
            env=environment(data, BOOKWISE_EMBEDDER="hashing"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            wait_for(data / "index")
            time.sleep(dice.uniform(0, 0.1))
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 130), said.decode()
        completed(root, data)


@pytest.mark.parametrize("identity", [None, b""], ids=["absent", "empty"])
def test_a_folder_that_an_earlier_version_left_without_identity_is_started_again(
    identity: bytes | None, root: Path, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    run(ingest_in_child, root, data)
    [name] = index_ids(data / "index")
    (data / "index" / name / IDENTITY_FILE).unlink()
    if identity is not None:
        (data / "index" / name / IDENTITY_FILE).write_bytes(identity)
    completed(root, data)


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was not created"
        time.sleep(0.001)
