"""Gives every request an id, a log line, metrics and security headers."""

import logging
import re
from time import perf_counter
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from bookwise.api.middleware.base import HttpMiddleware
from bookwise.api.problems import problem_of_exception, request_id

REQUEST_ID = "X-Request-ID"
DISCONNECTED = 499  #: logged when the client disconnects before the response starts
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_VALID_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

logger = logging.getLogger("bookwise.api")


class RequestLog(HttpMiddleware):
    """The outermost middleware: request id, log line, metrics, and a response to unexpected exceptions."""

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent_id = Headers(scope=scope).get(REQUEST_ID, "")
        request_id.set(valid_request_id(sent_id) or uuid4().hex)
        status = 0
        start = perf_counter()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id.get()
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            logger.exception("request.bug")
            if status:
                raise
            await problem_of_exception(error).response(scope["path"])(scope, receive, send_with_headers)
        finally:
            _record(scope, status or DISCONNECTED, perf_counter() - start)


def valid_request_id(text: str) -> str:
    """The id that a client has sent; empty if it is not one."""
    return text if _VALID_ID.fullmatch(text) else ""


def _record(scope: Scope, status: int, seconds: float) -> None:
    """Logs only route and status: the rest of the URL may contain a question or a key."""
    route = getattr(scope.get("route"), "path", "other")
    method = scope["method"] if scope["method"] in METHODS else "other"
    facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1e3, 1)}
    logger.info("request", extra=facts)
    metrics = scope["app"].state.service.metrics
    metrics.requests.labels(method, route, str(status)).inc()
    metrics.request_seconds.labels(route).observe(seconds)
