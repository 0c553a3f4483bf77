"""The tools for AI assistants, over stdin and stdout."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from mcp.server.stdio import stdio_server

from bookwise.answering.ask import AskKit
from bookwise.api.mcp_tools import tool_server
from bookwise.domain.access import ANYONE
from bookwise.operations.ask import open_asking
from bookwise.settings import Settings


async def serve_stdio(settings: Settings) -> None:
    """Serves until stdin ends. The data folder is locked only while a tool runs."""
    one_at_a_time = anyio.Lock()

    @asynccontextmanager
    async def opened() -> AsyncIterator[AskKit]:
        async with one_at_a_time, open_asking(settings) as kit:
            yield kit

    server = tool_server(opened, settings, lambda _: ANYONE)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
