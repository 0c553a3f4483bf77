"""Refuses questions before they are parsed, while the queue is full.

Under overload most questions are refused, so a refusal must cost almost nothing. It is decided from the first bytes of
a request, and its response is prepared. A request that is unusual in any way is not decided here: it takes the ordinary
way, and the queue refuses it there.
"""

import asyncio
import logging
import re
from dataclasses import dataclass
from functools import partial
from uuid import uuid4

from bookwise.api.load_limit import LoadLimit
from bookwise.api.middleware.request_log import REQUEST_ID, SECURITY_HEADERS, valid_request_id
from bookwise.api.problems import MEDIA_TYPE, problem_of, request_id, retry_after
from bookwise.api.state import ServiceState

PATHS = ("/chat/run", "/chat/stream", "/search", "/v1/chat/completions")  #: POST; these wait in the queue
EXPOSED = f"{REQUEST_ID}, Retry-After"
LOG_SECONDS = 1.0  #: refusals are counted, and logged this often
ID_PLACE = "0" * 32

#: A whole head, strictly: a proxy in front must see the same end of it.
_HEAD = re.compile(
    rb"POST (%b) HTTP/1\.1\r\n((?:[\w!#$%%&'*+.^`|~-]+:[^\r\n\0]*\r\n)+)\r\n" % b"|".join(p.encode() for p in PATHS)
)
_DECIDED_LATER = frozenset({b"transfer-encoding", b"content-encoding", b"expect", b"upgrade"})

logger = logging.getLogger("bookwise.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionHead:
    """The head of a request that the service may refuse, and how much of its body has not arrived."""

    path: str
    origin: str
    request_id: str
    keeps_alive: bool
    unread: int


def read_head(data: bytes, *, body_limit: int) -> QuestionHead | None:
    """The head of a question; None for all other requests, and for everything that is unusual."""
    match = _HEAD.match(data)
    if match is None:
        return None
    lines = match[2].split(b"\r\n")[:-1]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
    length = headers.get(b"content-length", b"")
    is_plain = len(headers) == len(lines) and _DECIDED_LATER.isdisjoint(headers) and length.isdigit()
    if not is_plain or len(length) > len(str(body_limit)) or int(length) > body_limit:
        return None
    connection = headers.get(b"connection", b"keep-alive").lower()
    unread = int(length) - (len(data) - match.end())
    if unread < 0 or connection not in (b"keep-alive", b"close") or (unread and connection == b"close"):
        return None
    return QuestionHead(
        path=match[1].decode(),
        origin=headers.get(b"origin", b"").decode("latin-1"),
        request_id=headers.get(b"x-request-id", b"").decode("latin-1"),
        keeps_alive=connection == b"keep-alive",
        unread=unread,
    )


class EarlyRefusal:
    """Decides whether a question is refused, and builds its response."""

    def __init__(self, state: ServiceState) -> None:
        self._state = state
        self._limit: LoadLimit = state.load_limit
        self._bodies = {path: _problem_parts(path, self._limit) for path in PATHS}
        self._counts = {path: partial(state.metrics.requests.labels("POST", path, "503").inc) for path in PATHS}
        self._unlogged = 0

    def head(self, data: bytes) -> QuestionHead | None:
        """The head of a question to refuse. None: the request takes the ordinary way."""
        if not self._limit.is_full:
            return None
        return read_head(data, body_limit=self._state.settings.body_limit_bytes)

    def response(self, head: QuestionHead) -> bytes:
        """The complete response. It is counted in the metrics, and in the log once per second."""
        self._counts[head.path]()
        self._log_soon()
        answer_id = valid_request_id(head.request_id) or uuid4().hex
        before, after = self._bodies[head.path]
        length = len(before) + len(answer_id) + len(after)
        lines = (
            f"{_HEADERS}Content-Length: {length}\r\n{REQUEST_ID}: {answer_id}\r\n"
            f"Retry-After: {retry_after(self._limit.expected_wait)}\r\n"
            f"{self._cors_headers(head.origin)}{'' if head.keeps_alive else CLOSE}\r\n"
        )
        return f"{lines}{before}{answer_id}{after}".encode("latin-1")

    def _cors_headers(self, origin: str) -> str:
        allowed = self._state.settings.cors_origins
        if not origin or not (origin in allowed or origin in self._state.key_origins):
            return ""
        return f"Access-Control-Allow-Origin: {origin}\r\nAccess-Control-Expose-Headers: {EXPOSED}\r\nVary: Origin\r\n"

    def _log_soon(self) -> None:
        if not self._unlogged:
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._log)
        self._unlogged += 1

    def _log(self) -> None:
        logger.warning("questions.refused", extra={"count": self._unlogged})
        self._unlogged = 0


CLOSE = "Connection: close\r\n"
_HEADERS = "HTTP/1.1 503 Service Unavailable\r\n" + "".join(
    f"{name}: {value}\r\n" for name, value in {"Content-Type": MEDIA_TYPE, **SECURITY_HEADERS}.items()
)


def _problem_parts(path: str, limit: LoadLimit) -> tuple[str, str]:
    """The problem before and after its request id."""
    outer = request_id.set(ID_PLACE)
    try:
        body = bytes(problem_of(limit.refusal()).response(path).body).decode("latin-1")
    finally:
        request_id.reset(outer)
    before, _, after = body.partition(ID_PLACE)
    return before, after
