"""Rejects requests that no route should see, and reads the whole body within its limit."""

from collections.abc import Sequence
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from bookwise.api.middleware.base import HttpMiddleware
from bookwise.api.problems import Problem
from bookwise.api.request_body import length_problem, read_body, replay
from bookwise.api.state import is_loopback

SAFE_METHODS = frozenset({"GET", "HEAD"})
DELIBERATE_HEADERS = ("authorization", "x-requested-with")  #: a page needs permission to send them
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
        origin = headers.get("origin")
        is_near = origin is None or origin in self._origins or _is_loopback_name(origin.partition("://")[2])
        if not is_near or not _is_loopback_name(headers.get("host", "")):
            return FOREIGN
        return FORM if scope["method"] not in SAFE_METHODS and _could_be_a_form(headers) else None


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
FORM = Problem(
    slug="unsupported-media-type",
    detail="Without API keys, a request that changes something must be JSON, or have a header that no form can have.",
    advice="Send `Content-Type: application/json`, or without a body `X-Requested-With: bookwise`.",
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


def _could_be_a_form(headers: Headers) -> bool:
    """Whether any page could make its reader's browser send this without asking the service first."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind != "application/json" and not any(name in headers for name in DELIBERATE_HEADERS)


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
