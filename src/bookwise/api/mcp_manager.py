"""ServiceState → the MCP library's handler of HTTP requests. Loads the MCP library."""

from collections.abc import AsyncGenerator
from contextlib import nullcontext
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from bookwise.api.answer_log import ChatTurn, log_answer
from bookwise.api.mcp_tools import tool_server
from bookwise.api.state import ServiceState
from bookwise.domain.access import Caller
from bookwise.domain.answers import AnswerEvent, Question


def open_manager(state: ServiceState) -> StreamableHTTPSessionManager:
    """Passes HTTP requests to the tools. The caller enters its `run` once."""

    def log(events: AsyncGenerator[AnswerEvent], question: Question, caller: Caller) -> AsyncGenerator[AnswerEvent]:
        logged = log_answer(events, ChatTurn(question=question, owner=caller.owner), state)
        return state.load_limit.answer(logged, state.kit)

    return StreamableHTTPSessionManager(
        tool_server(lambda: nullcontext(state.kit), state.settings, _caller_of, log=log),
        stateless=True,  # every request authenticates itself; there is no session to take over
        # RequestGuard checks the origin of all requests.
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )


def _caller_of(request: Any) -> Caller:
    caller: Caller = request.state.caller
    return caller
