"""Every request → one with an id, a log line, metrics and safe response headers."""

import logging
import re
from time import perf_counter
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from bookwise.api.middleware.base import HttpMiddleware
from bookwise.api.problems import INTERNAL, request_id

REQUEST_ID = "X-Request-ID"
GONE = 499  #: logged where the reader left before the first byte
SAFE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

logger = logging.getLogger("bookwise.api")


class RequestLog(HttpMiddleware):
    """The outermost border: the request's id, the log line, the figures, and an answer to what nobody expected."""

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id.set(given if _SANE_ID.fullmatch(given) else uuid4().hex)
        status = 0
        began = perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id.get()
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            logger.exception("request.bug")
            if status:
                raise
            await INTERNAL.response(scope["path"])(scope, receive, watched)
        finally:
            _record(scope, status or GONE, perf_counter() - began)


def _record(scope: Scope, status: int, seconds: float) -> None:
    """Route and status only: what a reader wrote into the address may be a question or a key."""
    route = getattr(scope.get("route"), "path", "other")
    method = scope["method"] if scope["method"] in METHODS else "other"
    facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1e3, 1)}
    logger.info("request", extra=facts)
    metrics = scope["app"].state.service.metrics
    metrics.requests.labels(method, route, str(status)).inc()
    metrics.request_seconds.labels(route).observe(seconds)
