"""A real ingest, to be run in a child process, which can kill itself at a named call of a port."""

import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio

from bookwise.domain.jobs import LessonOutcome
from bookwise.ingestion import pipeline
from bookwise.ingestion.discover import discover
from bookwise.ingestion.publish import EmbeddedLesson
from bookwise.ports import Catalog, LessonIndex
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.support.processes import Report


class KillsAtCall:
    """A port that ends the process with SIGKILL before or after the n-th call of one method."""

    def __init__(self, port: object, method: str, when: str, nth: int) -> None:
        self._port, self._method, self._when, self._left = port, method, when, nth

    def __getattr__(self, name: str) -> Any:
        wrapped = getattr(self._port, name)
        return partial(self._call, wrapped) if name == self._method else wrapped

    async def _call(self, wrapped: Any, *args: Any, **kwargs: Any) -> Any:
        self._left -= 1
        if self._left == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await wrapped(*args, **kwargs)
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


async def activate_first(lessons: list[EmbeddedLesson], *, index: LessonIndex, catalog: Catalog) -> None:
    """The commit order broken on purpose: readers are sent to chunks that are not there yet."""
    await catalog.activate([lesson.record for lesson in lessons])
    await index.stage([chunk for lesson in lessons for chunk in lesson.chunks])


async def delete_first(lessons: list[EmbeddedLesson], *, index: LessonIndex, catalog: Catalog) -> None:
    """The commit order broken on purpose: the old lesson is gone before the new one is there."""
    for lesson in lessons:
        before = await index.lesson(lesson.record.book_id, lesson.record.lesson_id)
        await index.remove(lesson.record.book_id, sorted({chunk.revision for chunk in before}))
    await index.stage([chunk for lesson in lessons for chunk in lesson.chunks])
    await catalog.activate([lesson.record for lesson in lessons])


ORDERS = {"activate-first": activate_first, "delete-first": delete_first}


def ingest_in_child(
    report: Report,
    root: Path,
    data: Path,
    kill: str = "",
    order: str = "",
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Ingests and reports a line per published or withdrawn lesson: what the caller may rely on from then on.

    `kill` names a step, for example `catalog.activate:before:1`; `order` is one of ORDERS; `settings` are further ones.
    """
    if order:
        pipeline.publish = ORDERS[order]  # type: ignore[attr-defined, assignment]
    pipeline.BATCH_CHUNKS = 4  # several batches even for a small book
    anyio.run(_ingest, report, root, Settings(data_dir=data, embedder="hashing", **(settings or {})), kill)


async def _ingest(report: Report, root: Path, settings: Settings, kill: str) -> None:
    def on_lesson(outcome: LessonOutcome) -> None:
        if outcome.status in ("published", "withdrawn"):
            report(f"{outcome.status} {outcome.source_file}")

    async with open_app(settings) as app:
        kit = app.ingestion_kit
        if kill:
            target, when, nth = kill.split(":")
            port, method = target.split(".")
            killer: Any = KillsAtCall(getattr(kit, port), method, when, int(nth))
            kit = replace(kit, **{port: killer})
        await pipeline.ingest(discover(root, book_id="book"), root, kit, report=on_lesson)
