"""POST /mcp: the MCP tools over streamable HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from bookwise.api.answer_log import ChatTurn, log_answer
from bookwise.api.auth.access import Reader
from bookwise.api.auth.rate_limit import Limited
from bookwise.api.mcp_tools import tool_server
from bookwise.api.state import ServiceState
from bookwise.domain.access import Caller
from bookwise.domain.answers import AnswerEvent, Question


def mount_mcp(app: FastAPI) -> None:
    """Adds POST /mcp, rate-limited like every route. Its lifespan runs inside the app's, after `app.state.service` is
    set."""
    app.include_router(router, dependencies=[Limited])


@asynccontextmanager
async def mcp_lifespan(app: Any) -> AsyncIterator[None]:
    state: ServiceState = app.state.service

    def log(events: AsyncGenerator[AnswerEvent], question: Question, caller: Caller) -> AsyncGenerator[AnswerEvent]:
        return log_answer(events, ChatTurn(question=question, owner=caller.owner), state)

    server = tool_server(lambda: nullcontext(state.kit), state.settings, _caller_of, log=log)
    app.state.mcp = StreamableHTTPSessionManager(
        server,
        stateless=True,  # every request authenticates itself; there is no session to take over
        # RequestGuard checks the origin of all requests.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    async with app.state.mcp.run():
        yield


def _caller_of(request: Any) -> Caller:
    caller: Caller = request.state.caller
    return caller


router = APIRouter(lifespan=mcp_lifespan, tags=["mcp"])


@router.post("/mcp", response_class=Response, include_in_schema=False)
async def mcp(request: Request, caller: Reader) -> Response:
    """The tools `search`, `fetch` and `ask` of the Model Context Protocol."""
    request.state.caller = caller
    return _McpResponse(request.app.state.mcp)


class _McpResponse(Response):
    """Passes an authorized request to the MCP library."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)
