"""Shared by all commands: open the data folder or hand over to a service, print results to stdout."""

import gc
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import anyio
import typer

from bookwise.domain.books import HARDWARE_TIERS
from bookwise.domain.errors import DataFolderBusy
from bookwise.operations.handover import hand_over
from bookwise.settings import Settings, load_settings
from bookwise.wiring import App, CatalogKit, RecordsKit, open_app, open_catalog, open_records, open_search

if TYPE_CHECKING:
    from rich.console import Console

    from bookwise.operations.operation import Operation
    from bookwise.retrieval.search import SearchKit

T = TypeVar("T")

ALL_TIERS = max(HARDWARE_TIERS)

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON to stdout.")]
BookOption = Annotated[str | None, typer.Option("--book", metavar="ID", help="Book id (default: the only book).")]

TierOption = Annotated[
    int,
    typer.Option(
        min=min(HARDWARE_TIERS),
        max=ALL_TIERS,
        help=f"Only lessons for this hardware tier or lower. {ALL_TIERS} means every lesson, as in `chat`, MCP and the "
        "HTTP chat; only `POST /search` defaults to 1.",
    ),
]


def settings_of(ctx: typer.Context) -> Settings:
    """The settings, with the data folder from the command line."""
    return load_settings(data_dir=(ctx.obj or {}).get("data_dir"))


def with_app(ctx: typer.Context, work: Callable[[App], Awaitable[T]]) -> T:
    """Opens the data folder, runs `work` and closes the folder."""
    settings = settings_of(ctx)

    async def run() -> T:
        async with open_app(settings) as app:
            gc.enable()  # off since the program started; an ingest runs long enough to need it
            return await work(app)

    return anyio.run(run)


def with_catalog(ctx: typer.Context, work: Callable[[CatalogKit], Awaitable[T]]) -> T:
    """Runs `work` on the catalog alone, also while another process has the data folder."""
    settings = settings_of(ctx)

    async def run() -> T:
        async with open_catalog(settings) as kit:
            return await work(kit)

    return anyio.run(run)


def with_search(ctx: typer.Context, work: Callable[["SearchKit"], Awaitable[T]]) -> T:
    """Like `with_app`, but opens only what a search needs."""
    settings = settings_of(ctx)

    async def run() -> T:
        async with open_search(settings) as kit:
            return await work(kit)

    return anyio.run(run)


def execute(ctx: typer.Context, operation: "Operation[App, T]", run: Callable[[App], Awaitable[T]] | None = None) -> T:
    """Runs the operation on the data folder, or in the service that has the folder.

    `run` replaces `operation.run` in this process, for example to show progress.
    """
    try:
        return with_app(ctx, run or operation.run)
    except DataFolderBusy as busy:
        return hand_over(settings_of(ctx), busy, operation)


def execute_on_records(ctx: typer.Context, operation: "Operation[RecordsKit, T]") -> T:
    """Like `execute`, without opening the index."""
    settings = settings_of(ctx)

    async def run() -> T:
        async with open_records(settings) as kit:
            return await operation.run(kit)

    try:
        return anyio.run(run)
    except DataFolderBusy as busy:
        return hand_over(settings, busy, operation)


def print_json(value: Any) -> None:
    """Writes one JSON document. Characters outside ASCII are escaped, so any terminal encoding works."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=2) + "\n")


@lru_cache(maxsize=2)
def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console  # loads rich: 0.05 s, not needed with --json

    return Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())


@contextmanager
def progress_bar(title: str, *, visible: bool) -> Iterator[Callable[[int, int], None]]:
    """A function that takes what is done, and of how much. It shows a bar if stderr is a terminal."""
    if not visible or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from bookwise.cli.progress import question_bar  # loads rich: 0.05 s

    with question_bar(f"[bold]{title}") as show:
        yield show


def write_entry(title: str, *details: str) -> None:
    """One item of a list: a bold title and indented details. The terminal wraps long lines; nothing is cut."""
    out = console()
    out.print(printable(title), style="bold", markup=False, soft_wrap=True)
    for detail in details:
        out.print(f"    {printable(detail)}", markup=False, soft_wrap=True)


def printable(text: str) -> str:
    """Text from a book or a file name, without control characters that a terminal would obey."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
