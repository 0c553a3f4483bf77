"""SIGKILL of a process that ingests into a Qdrant server: readers see old or new lessons, and a second run heals."""

import random
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.faults.test_kill import Seen, edit, lessons_in, write_book
from tests.support.index_backends import live_settings
from tests.support.ingest_child import ingest_in_child
from tests.support.processes import child
from tests.support.qdrant_process import qdrant_process

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

STEPS = ["index.stage:before:1", "index.stage:after:2", "catalog.activate:after:1", "index.remove:before:1"]
RANDOM_KILLS = 10
MOST_RUNS = 200

Options = dict[str, Any]


@pytest.fixture(params=["qdrant-loopback", pytest.param("qdrant-live", marks=pytest.mark.live)])
async def on_server(request: pytest.FixtureRequest) -> AsyncIterator[Options]:
    """Settings that put the index on a server, which keeps running when a process is killed."""
    if request.param == "qdrant-live":
        async with live_settings() as settings:
            yield settings
    else:
        with qdrant_process() as url:
            yield {"qdrant_url": url}


def run(root: Path, data: Path, options: Options, *, kill: str = "") -> int:
    with child(ingest_in_child, root, data, kill, "", options) as process:
        code, lines = process.ended()
    assert code in (0, -signal.SIGKILL), lines
    return code


async def stored(data: Path, options: Options) -> tuple[Seen, dict[str, int]]:
    """What readers see, each lesson checked to be whole, and every chunk that the index holds."""
    async with open_app(Settings(data_dir=data, embedder="hashing", **options)) as app:
        return await lessons_in(app), await app.index.revisions("book")


async def test_killed_at_a_step_readers_see_old_or_new_and_a_second_run_heals(
    tmp_path: Path, on_server: Options
) -> None:
    root = tmp_path / "book-folder"
    write_book(root)
    assert run(root, tmp_path / "data", on_server) == 0
    old, _ = await stored(tmp_path / "data", on_server)
    edit(root)
    seen: list[Seen] = []
    for step in STEPS:
        assert run(root, tmp_path / "data", on_server, kill=step) == -signal.SIGKILL, "the step was reached"
        seen.append((await stored(tmp_path / "data", on_server))[0])
    assert run(root, tmp_path / "data", on_server) == 0
    new, revisions = await stored(tmp_path / "data", on_server)
    assert sum(revisions.values()) == sum(map(len, new.values())), "nothing but the live chunks is left"
    assert new.keys() - old.keys()
    for lessons in seen:
        assert all(texts in (old.get(file), new.get(file)) for file, texts in lessons.items())
        assert lessons.keys() >= old.keys() & new.keys()


@pytest.mark.live
async def test_killed_at_random_moments_nothing_half_is_seen(tmp_path: Path) -> None:
    moments = random.Random(12)
    root = tmp_path / "book-folder"
    write_book(root)
    async with live_settings() as options:
        assert run(root, tmp_path / "data", options) == 0
        started = time.monotonic()
        edit(root)
        assert run(root, tmp_path / "data", options) == 0
        longest, kills, runs = time.monotonic() - started, 0, 0
        while kills < RANDOM_KILLS and (runs := runs + 1) < MOST_RUNS:
            for number, path in enumerate(sorted(root.iterdir())):
                path.write_text(f"{path.read_text()}\nRun {runs} adds line {number}.\n")
            with child(ingest_in_child, root, tmp_path / "data", "", "", options) as process:
                process.process.join(moments.uniform(0, longest))
                process.process.kill()
                code, lines = process.ended()
            assert code in (0, -signal.SIGKILL), lines
            kills += code == -signal.SIGKILL
            await stored(tmp_path / "data", options)  # checks that every lesson is whole
        assert kills == RANDOM_KILLS
        assert run(root, tmp_path / "data", options) == 0
        new, revisions = await stored(tmp_path / "data", options)
    assert sum(revisions.values()) == sum(map(len, new.values()))
