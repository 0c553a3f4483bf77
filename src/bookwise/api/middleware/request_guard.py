"""Every request → one within its limits, with its whole body; anything else is refused before a route sees it."""

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
    """Refuses what no route should have to look at, and hands on the body as a whole, read within its limit."""

    def __init__(self, app: ASGIApp, *, body_limit: int, origins: Sequence[str] = ()) -> None:
        super().__init__(app)
        self._body_limit = body_limit
        self._origins = origins

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if problem := _refusal(scope, self._body_limit) or self._foreign(scope):
            await problem.response(scope["path"])(scope, receive, send)
            return
        read = await self._read(receive)
        if isinstance(read, Problem):
            await read.response(scope["path"], {"Connection": "close"})(scope, receive, send)
        elif read is not None:
            await self._app(scope, _replay(read, receive), send)

    def _foreign(self, scope: Scope) -> Problem | None:
        """Where no key is needed, a page on the internet must not reach the books through its reader's browser:
        neither as itself nor under a name that it makes point here."""
        if scope["method"] == "OPTIONS" or not scope["app"].state.service.open_to_anyone:
            return None
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        named = [headers.get("host", ""), "" if origin in self._origins else origin]
        return None if all(map(_is_near, named)) else FOREIGN

    async def _read(self, receive: Receive) -> bytes | Problem | None:
        """The body; None when its sender is gone."""
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
    detail="Without API keys this service only answers to this machine.",
    advice="Make a key with `bookwise keys create`, and list the page's origin in BOOKWISE_CORS_ORIGINS.",
)


def _is_near(name: str) -> bool:
    """Whether a host or an origin cannot belong to anyone on the internet."""
    try:
        host = urlsplit(f"//{name.rpartition('//')[2]}").hostname
    except ValueError:
        return False
    return not host or is_loopback(host) or not {".", ":"} & set(host)


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """The body as one message, then whatever comes next."""
    left = [body]

    async def replayed() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return replayed


def _refusal(scope: Scope, body_limit: int) -> Problem | None:
    headers = Headers(scope=scope)
    names = {name.lower() for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)}
    if names & SECRET_NAMES:
        return Problem(
            slug="malformed-request",
            detail="A key must not stand in an address: addresses are kept in logs and histories.",
            advice="Send it as `Authorization: Bearer KEY`, and replace the key: it is no longer a secret.",
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
        advice="Send less at once.",
        more=(("limit_bytes", limit),),
    )
