"""Figure 12: whatever is sent, typed or damaged, the outcome is one that is documented."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio.to_thread
from tests.support.apps import ingested, write_book
from tests.support.small_books import LESSONS

from benchmarks.storage_faults import run_storage_faults
from benchmarks.trust.command_lines import run_commands
from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.fuzzed_requests import send_made_up_requests
from benchmarks.trust.pushes import HOOK
from benchmarks.trust.service import prepare, serving, temporary_folder
from benchmarks.trust.state_sequences import run_sequences
from bookwise.settings import Settings
from bookwise.wiring import App, open_app

Result = tuple[int, list[str]]  #: cases, and what went wrong
EXAMPLES = 8


def raising(app: App) -> App:
    """The control: a store raises an unexpected error."""
    return replace(app, journal=_Raising(app.journal))  # type: ignore[arg-type]


class _Raising:
    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def rate(self, *args: Any, **options: Any) -> None:
        raise ZeroDivisionError


async def fuzzed_requests(folder: Path, count: int, broken: bool) -> Result:
    """To a service with keys and to one that is open."""
    change = raising if broken else None
    _, data, secret = await prepare(folder / "closed", LESSONS)
    async with open_app(Settings(data_dir=data, embedder="hashing")) as app:
        spare = (await app.keys.create("spare", "reader"))[0].id
    async with serving(data, secret, change=change, **HOOK) as running:
        sent, found = await anyio.to_thread.run_sync(send_made_up_requests, running, secret, spare, count)
    if broken:
        return sent, found
    async with open_app(Settings(data_dir=folder / "open" / "data", embedder="hashing")) as app:
        await ingested(app, write_book(folder / "open" / "book", LESSONS))
    async with serving(folder / "open" / "data", "", **HOOK) as running:
        spare = "key_that_does_not_exist"  # a key would close the service
        more, others = await anyio.to_thread.run_sync(send_made_up_requests, running, None, spare, count)
    return sent + more, found + others


async def state_sequences(folder: Path, count: int, broken: bool) -> Result:
    _, data, secret = await prepare(folder, LESSONS)
    async with serving(data, secret, change=raising if broken else None) as running:
        return await run_sequences(running, count)


async def command_lines(folder: Path, count: int, broken: bool) -> Result:
    return await anyio.to_thread.run_sync(run_commands, folder, count)


async def storage_faults(folder: Path, count: int, broken: bool) -> Result:
    """Flipped bits, cut files and zeroed sectors. What is reported is no surprise."""
    report = await anyio.to_thread.run_sync(run_storage_faults, count)
    wrong = [case for case in report.cases if case.verdict in ("silent", "crashed")]
    return len(report.cases), [f"{case.kind} in {case.file}: {case.verdict}, {case.detail}" for case in wrong]


#: Each group with its smallest number of cases.
GROUPS: tuple[tuple[int, Callable[[Path, int, bool], Awaitable[Result]]], ...] = (
    (2_000, fuzzed_requests),
    (500, state_sequences),
    (60, command_lines),
    (20, storage_faults),
)
LEAST = sum(least for least, _ in GROUPS)


async def measure(cases: int, broken: bool) -> Measured:
    """A group counts with its smallest number at most, so that no group makes up for another."""
    share, counted, found = cases / LEAST, 0, []
    for least, group in GROUPS:
        with temporary_folder() as folder:
            done, faults = await group(folder, max(1, round(least * share)), broken)
        counted += min(done, least)
        found += faults
    return Measured(cases=counted, bad=len(found), examples=tuple(fault[:500] for fault in found[:EXAMPLES]))


FIGURE = Figure(
    number=12,
    name="no surprises",
    counts="made-up requests, sequences of requests, command lines and damaged files; bad: a 5xx, a response that the "
    "document does not allow, a wrong state, a traceback or a wrong answer",
    cases=LEAST,
    control="a store raises an error of an unknown kind",
    control_cases=200,
    measure=measure,
)
