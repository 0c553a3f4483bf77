"""Rejects requests that no route should see, and reads the whole body within its limit."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bookwise.api.middleware.base import HttpMiddleware
from bookwise.api.problems import Problem
from bookwise.api.request_body import length_problem, read_body, replay
from bookwise.api.state import is_loopback

PROXY_HEADERS = ("x-forwarded-", "forwarded", "x-real-ip")
SECRET_NAMES = frozenset({"api_key", "apikey", "api-key", "key", "token", "access_token", "authorization"})


class RequestGuard(HttpMiddleware):
    """Rejects foreign, oversized and malformed requests, and passes the body on in one piece.

    The routes below `unread` read their larger bodies themselves, after they know the sender."""

    def __init__(
        self, app: ASGIApp, *, body_limit: int, origins: Sequence[str] = (), unread: tuple[str, ...] = ()
    ) -> None:
        super().__init__(app)
        self._body_limit = body_limit
        self._origins = origins
        self._unread = unread

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if problem := _header_problem(scope) or self._foreign_problem(scope):
            close = {"Connection": "close"} if problem is TWO_LENGTHS else None
            await problem.response(scope["path"], close)(scope, receive, send)
        elif scope["path"].startswith(self._unread):
            await self._app(scope, receive, send)
        elif problem := length_problem(Headers(scope=scope), self._body_limit):
            await problem.response(scope["path"])(scope, receive, send)
        else:
            await self._with_body(scope, receive, send)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await read_body(receive, self._body_limit)
        if isinstance(body, Problem):
            await body.response(scope["path"], {"Connection": "close"})(scope, receive, send)
        elif body is not None:
            await self._app(scope, replay(body, receive), send)

    def _foreign_problem(self, scope: Scope) -> Problem | None:
        """Without keys, a page on the internet must not reach the books through its reader's browser: not from its own
        origin, and not under a host name that resolves to this machine (DNS rebinding). Nor must anyone else through a
        proxy, whose requests come from this machine."""
        if scope["method"] == "OPTIONS" or not scope["app"].state.service.open_to_anyone:
            return None
        headers = Headers(scope=scope)
        if any(name.startswith(PROXY_HEADERS) for name in headers):
            return PROXIED
        origin = headers.get("origin", "")
        is_near = origin in self._origins or _is_local(origin)
        return None if is_near and _is_loopback_name(headers.get("host", "")) else FOREIGN


TWO_LENGTHS = Problem(  # a proxy in front may see another end of the body, and take the rest for a request
    slug="malformed-request",
    detail="The request has both Content-Length and Transfer-Encoding.",
    advice="Send only one of them.",
)
FOREIGN = Problem(
    slug="forbidden",
    detail="Without API keys this service only accepts requests from this machine.",
    advice="Create a key with `bookwise keys create`, and list the page's origin in BOOKWISE_CORS_ORIGINS.",
)


PROXIED = Problem(
    slug="forbidden",
    detail="Without API keys this service does not accept requests from a proxy.",
    advice="Create a key with `bookwise keys create`.",
)


def _is_loopback_name(name: str) -> bool:
    """Whether a host, with or without a port, is a name of this machine."""
    try:
        return is_loopback(urlsplit(f"//{name}").hostname or "")
    except ValueError:
        return False


def _is_local(name: str) -> bool:
    """Whether a host or an origin cannot be on the internet."""
    try:
        host = urlsplit(f"//{name.rpartition('//')[2]}").hostname
    except ValueError:
        return False
    return not host or is_loopback(host) or not {".", ":"} & set(host)


def _header_problem(scope: Scope) -> Problem | None:
    headers = Headers(scope=scope)
    names = {name.lower() for name, _ in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)}
    if names & SECRET_NAMES:
        return Problem(
            slug="malformed-request",
            detail="A key must not be part of a URL: URLs are stored in logs and histories.",
            advice="Send it as `Authorization: Bearer KEY`, and replace the key: it is no longer secret.",
        )
    if "transfer-encoding" in headers and "content-length" in headers:
        return TWO_LENGTHS
    if headers.get("content-encoding", "identity").lower() != "identity":
        return Problem(
            slug="unsupported-media-type",
            detail="The body is compressed.",
            advice="Send it without Content-Encoding.",
        )
    return None
