"""A real move, to be run in a child process, which kills itself at a named call of the target, or after some rows."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from bookwise.adapters.sql import copy_tables
from bookwise.ingestion import copy_book
from bookwise.operations import move
from bookwise.operations.move import MoveRequest, MoveTarget
from bookwise.settings import Settings
from bookwise.wiring.move import IndexMove
from tests.support.ingest_child import KillsAtCall
from tests.support.processes import Report


def settings(data: Path) -> Settings:
    return Settings(data_dir=data, embedder="hashing", qdrant_collection_name=f"t-{data.parent.name}"[:60])


def move_index_in_child(report: Report, data: Path, url: str, kill: str = "") -> None:
    """`kill` names a call of the target, for example `index.stage:after:2`."""
    copy_book.BATCH_CHUNKS = 4  # several batches even for a small book
    if kill:
        _kill_at(kill)
    anyio.run(move.move, MoveRequest(to="qdrant", url=url), settings(data), lambda done, total: report(str(done)))


def _kill_at(kill: str) -> None:
    call, when, nth = kill.split(":")
    port, method = call.split(".")
    move_index = move._move_index

    async def with_killer(request: MoveRequest, ends: IndexMove, *more: Any) -> Any:
        killer: Any = KillsAtCall(getattr(ends.target, port), method, when, int(nth))
        return await move_index(request, replace(ends, target=replace(ends.target, **{port: killer})), *more)

    move._move_index = with_killer  # type: ignore[assignment]


def move_database_in_child(report: Report, data: Path, to: MoveTarget, url: str, kill_after: int = 0) -> None:
    """Kills itself when so many rows are done; 0: never."""
    copy_tables.PAGE_ROWS = 3

    def on_progress(done: int, total: int) -> None:
        report(f"{done} {total}")
        if kill_after and done >= kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    anyio.run(move.move, MoveRequest(to=to, url=url), settings(data), on_progress)
