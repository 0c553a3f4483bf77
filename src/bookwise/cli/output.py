"""What every command shares: opening the app, results on stdout, everything else on stderr."""

import gc
import json
import sys
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import anyio
import typer

from bookwise.domain.errors import DataFolderBusy
from bookwise.settings import Settings, load_settings
from bookwise.wiring import App, open_app, open_search

if TYPE_CHECKING:
    from rich.console import Console

    from bookwise.operations.operation import Operation
    from bookwise.retrieval.search import SearchKit

T = TypeVar("T")

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
BookOption = Annotated[str | None, typer.Option("--book", help="The book's id (default: the only book there is).")]


def settings_of(ctx: typer.Context) -> Settings:
    return load_settings(data_dir=(ctx.obj or {}).get("data_dir"))


def with_app(ctx: typer.Context, work: Callable[[App], Awaitable[T]]) -> T:
    """Opens the data folder, runs the work, closes it."""
    settings = settings_of(ctx)

    async def run() -> T:
        async with open_app(settings) as app:
            gc.enable()  # off since the start of the program; an ingest is long enough to need it
            return await work(app)

    return anyio.run(run)


def execute(ctx: typer.Context, errand: "Operation[App, T]") -> T:
    """Runs an errand on the data folder, or has it run by the service that holds the folder."""
    try:
        return with_app(ctx, errand.run)
    except DataFolderBusy as busy:
        return hand_over(settings_of(ctx), busy, errand)


def hand_over(settings: Settings, busy: DataFolderBusy, errand: "Operation[Any, T]") -> T:
    """Has the errand run by the service that holds the busy data folder; without one, the folder is just busy."""
    from bookwise.cli import handover  # start-up time that only this case has to pay

    return handover.hand_over(settings, busy, errand)


def with_search(ctx: typer.Context, work: Callable[["SearchKit"], Awaitable[T]]) -> T:
    """Like `with_app`, with just what a search needs."""
    settings = settings_of(ctx)

    async def run() -> T:
        async with open_search(settings) as kit:
            return await work(kit)

    return anyio.run(run)


def print_json(value: Any) -> None:
    """One JSON document, always UTF-8 safe: what cannot be encoded is escaped."""
    sys.stdout.write(json.dumps(value, ensure_ascii=True, indent=2) + "\n")


@lru_cache(maxsize=2)
def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console  # costs start-up time that `--json` need not pay

    return Console(stderr=stderr, highlight=False, soft_wrap=not sys.stdout.isatty())


def printable(text: str) -> str:
    """Text from a book or a file name, without the control characters that command a terminal."""
    return "".join(c if c in "\n\t" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
