"""POST /mcp: the tools for assistants over streamable HTTP."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from bookwise.api.access import Reader
from bookwise.api.limits import Limited
from bookwise.api.noting import Asking, noted
from bookwise.api.service import Service
from bookwise.api.tools import tool_server
from bookwise.domain.access import Caller
from bookwise.domain.answers import AnswerEvent, Question

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def mount_mcp(app: FastAPI) -> None:
    """Adds POST /mcp, limited like every route. Its lifespan joins the app's own and runs inside it, once that has
    set `app.state.service`: the app has nothing more to do."""
    app.include_router(router, dependencies=[Limited])


@asynccontextmanager
async def mcp_lifespan(app: Any) -> AsyncIterator[None]:
    service: Service = app.state.service

    def note(events: AsyncGenerator[AnswerEvent], question: Question, caller: Caller) -> AsyncGenerator[AnswerEvent]:
        return noted(events, Asking(question=question, owner=caller.owner), service)

    server = tool_server(lambda: nullcontext(service.kit), service.settings, _caller_of, note=note)
    app.state.mcp = StreamableHTTPSessionManager(
        server,
        stateless=True,  # every request says who sends it; nothing is remembered that another could take over
        security_settings=_security(open_to_anyone=service.open_to_anyone),
    )
    async with app.state.mcp.run():
        yield


def _security(*, open_to_anyone: bool) -> TransportSecuritySettings:
    """Where no key is needed, a page in the reader's browser must not reach the books through a name of its own."""
    if not open_to_anyone:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    hosts = [spelling for host in LOOPBACK for spelling in (host, f"{host}:*")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])


def _caller_of(request: Any) -> Caller:
    caller: Caller = request.state.caller
    return caller


router = APIRouter(lifespan=mcp_lifespan, tags=["mcp"])


@router.post("/mcp", response_class=Response, include_in_schema=False)
async def mcp(request: Request, caller: Reader) -> Response:
    """The tools `search`, `fetch` and `ask` of the Model Context Protocol."""
    request.state.caller = caller
    return _HandedOver(request.app.state.mcp)


class _HandedOver(Response):
    """A request that passed our checks, answered by the protocol's own implementation."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        super().__init__()
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._manager.handle_request(scope, receive, send)
