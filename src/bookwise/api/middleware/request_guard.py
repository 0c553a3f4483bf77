"""Rejects requests that no route should see, and reads the whole body within its limit."""

from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import parse_qsl, urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bookwise.api.middleware.base import HttpMiddleware
from bookwise.api.problems import Problem
from bookwise.api.state import is_loopback

BODY_SECONDS = 30.0
SECRET_NAMES = frozenset({"api_key", "apikey", "api-key", "key", "token", "access_token", "authorization"})


class RequestGuard(HttpMiddleware):
    """Rejects foreign, oversized and malformed requests, and passes the body on in one piece."""

    def __init__(self, app: ASGIApp, *, body_limit: int, origins: Sequence[str] = ()) -> None:
        super().__init__(app)
        self._body_limit = body_limit
        self._origins = origins

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if problem := _header_problem(scope, self._body_limit) or self._origin_problem(scope):
            await problem.response(scope["path"])(scope, receive, send)
            return
        body = await self._read(receive)
        if isinstance(body, Problem):
            await body.response(scope["path"], {"Connection": "close"})(scope, receive, send)
        elif body is not None:
            await self._app(scope, _replay(body, receive), send)

    def _origin_problem(self, scope: Scope) -> Problem | None:
        """Without keys, a page on the internet must not reach the books through its reader's browser: not from its own
        origin, and not under a host name that resolves to this machine (DNS rebinding)."""
        if scope["method"] == "OPTIONS" or not scope["app"].state.service.open_to_anyone:
            return None
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        names = [headers.get("host", ""), "" if origin in self._origins else origin]
        return None if all(map(_is_local, names)) else FOREIGN

    async def _read(self, receive: Receive) -> bytes | Problem | None:
        """The body; None when the client has disconnected."""
        body = bytearray()
        with anyio.move_on_after(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                body += message.get("body", b"")
                if len(body) > self._body_limit:
                    return _too_large(self._body_limit)
                if not message.get("more_body", False):
                    return bytes(body)
        return Problem(slug="", status=408, code="request-timeout", detail="The body did not arrive in time.")


FOREIGN = Problem(
    slug="forbidden",
    detail="Without API keys this service only accepts requests from this machine.",
    advice="Create a key with `bookwise keys create`, and list the page's origin in BOOKWISE_CORS_ORIGINS.",
)


def _is_local(name: str) -> bool:
    """Whether a host or an origin cannot be on the internet."""
    try:
        host = urlsplit(f"//{name.rpartition('//')[2]}").hostname
    except ValueError:
        return False
    return not host or is_loopback(host) or not {".", ":"} & set(host)


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Receives the body as one message, then the messages that follow."""
    pending = [body]

    async def receive_body() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return receive_body


def _header_problem(scope: Scope, body_limit: int) -> Problem | None:
    headers = Headers(scope=scope)
    names = {name.lower() for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)}
    if names & SECRET_NAMES:
        return Problem(
            slug="malformed-request",
            detail="A key must not be part of a URL: URLs are stored in logs and histories.",
            advice="Send it as `Authorization: Bearer KEY`, and replace the key: it is no longer secret.",
        )
    if headers.get("content-encoding", "identity").lower() != "identity":
        return Problem(
            slug="unsupported-media-type",
            detail="The body is compressed.",
            advice="Send it without Content-Encoding.",
        )
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > body_limit:
        return _too_large(body_limit)
    return None


def _too_large(limit: int) -> Problem:
    return Problem(
        slug="payload-too-large",
        detail=f"The body is larger than {limit:,} bytes.",
        advice="Send a smaller body.",
        more=(("limit_bytes", limit),),
    )
