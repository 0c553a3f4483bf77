"""`mcp`: the tools for AI assistants, over stdin and stdout."""

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import typer

from bookwise.cli.output import settings_of
from bookwise.domain.access import ANYONE
from bookwise.operations.ask import open_asking
from bookwise.settings import Settings

if TYPE_CHECKING:
    from bookwise.answering.ask import AskKit


def add_to(app: typer.Typer) -> None:
    app.command()(mcp)


def mcp(ctx: typer.Context) -> None:
    """Serve the books to an AI assistant over MCP. It gets the tools search, fetch and ask on stdin and stdout.

    The data folder is locked only while a tool runs, so assistants and `bookwise ingest` can share it.
    """
    gc.enable()  # off since the program started; this process is long-lived
    anyio.run(_serve, settings_of(ctx))


async def _serve(settings: Settings) -> None:
    from bookwise.api.mcp_tools import serve_stdio, tool_server  # loads the MCP SDK and FastAPI: 1.2 s

    one_at_a_time = anyio.Lock()

    @asynccontextmanager
    async def opened() -> AsyncIterator["AskKit"]:
        async with one_at_a_time, open_asking(settings) as kit:
            yield kit

    await serve_stdio(tool_server(opened, settings, lambda _: ANYONE))
