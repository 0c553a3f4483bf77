"""POST /mcp: the MCP tools over streamable HTTP. The MCP library is loaded at the first request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from starlette.types import Receive, Scope, Send

from bookwise.api.auth.access import Reader
from bookwise.api.auth.rate_limit import Limited
from bookwise.api.request_body import replay
from bookwise.api.state import ServiceState
from bookwise.api.strict_json import StrictRequest

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


def mount_mcp(app: FastAPI) -> None:
    """Adds POST /mcp, rate-limited like every route. Its lifespan runs inside the app's, after `app.state.service` is
    set."""
    app.include_router(router, dependencies=[Limited])


class McpTools:
    """Answers MCP requests. The library's manager runs in the task of `run`, from the first request on."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self._requested = anyio.Event()
        self._ready = anyio.Event()
        self._manager: StreamableHTTPSessionManager | None = None

    async def run(self) -> None:
        await self._requested.wait()
        manager = await anyio.to_thread.run_sync(_open_manager, self._state)
        async with manager.run():
            self._manager = manager
            self._ready.set()
            await anyio.sleep_forever()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._requested.set()
        await self._ready.wait()
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)


def _open_manager(state: ServiceState) -> StreamableHTTPSessionManager:
    from bookwise.api.mcp_manager import open_manager  # loads the MCP library: 0.4 s and 24 MB, seldom needed

    return open_manager(state)


@asynccontextmanager
async def mcp_lifespan(app: Any) -> AsyncIterator[None]:
    app.state.mcp = McpTools(app.state.service)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app.state.mcp.run)
        yield
        tasks.cancel_scope.cancel()


router = APIRouter(lifespan=mcp_lifespan, tags=["mcp"])


@router.post("/mcp", response_class=Response, include_in_schema=False)
async def mcp(request: Request, caller: Reader) -> Response:
    """The tools `search`, `fetch` and `ask` of the Model Context Protocol."""
    strict = StrictRequest(request.scope, request.receive)
    await strict.json()  # the library is less strict
    return _McpResponse(request.app.state.mcp, await strict.body())


class _McpResponse(Response):
    """Passes an authorized request to the MCP library."""

    def __init__(self, tools: McpTools, body: bytes) -> None:
        super().__init__()
        self._tools = tools
        self._request_body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._tools.handle(scope, replay(self._request_body, receive), send)
