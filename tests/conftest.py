"""What every test shares."""

import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

gc.disable()  # until everything is loaded: looking for garbage in it takes a third of the collection
pytest_plugins = ["tests.support.small_book", "tests.support.sample_book"]
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

#: Tests wait for thousands of flushes, which cost nothing on a memory disk. A small one would fill up.
MEMORY_DISK = Path("/dev/shm")
MEMORY_DISK_FREE_MIN = 4 * 1024**3


def pytest_configure() -> None:
    """Puts the temporary folders on the memory disk, unless TMPDIR names another place, and the address of a Qdrant
    server for the tests under a name that is not taken for a setting of Bookwise. A shell that runs the tests in the
    background ignores Ctrl-C, and so would every program that they start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("QDRANT_URL", "QDRANT_API_KEY"):
        if value := os.environ.pop(f"BOOKWISE_TEST_{name}", ""):
            os.environ[f"TEST_{name}"] = value
    if MEMORY_DISK.is_dir() and shutil.disk_usage(MEMORY_DISK).free >= MEMORY_DISK_FREE_MIN:
        os.environ.setdefault("TMPDIR", str(MEMORY_DISK))
        tempfile.tempdir = None  # pytest has asked for the folder before: look again


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: at the end, no worker waits for another one's longest test. All that need a PostgreSQL are
    slow: it must be started. Those that need a Qdrant server are left out, with the reason, where none is named."""
    for item in items:
        if "postgres" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if not os.environ.get("TEST_QDRANT_URL"):
        skip = pytest.mark.skip(reason="needs a Qdrant server: make live QDRANT_URL=http://localhost:6333")
        for item in items:
            if item.get_closest_marker("live"):
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """All that is loaded stays until the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
