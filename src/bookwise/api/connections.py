"""The HTTP connections of the service: deadlines for clients that do not finish, and a limit on their number."""

import asyncio
import resource
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from bookwise.api.early_refusal import EarlyRefusal
from bookwise.settings import Settings

RESERVED_FILES = 96  #: for the database, the index and the language model; a service in use has about 25 open
CONNECTIONS_MIN = 16
SEND_SECONDS = 30.0  #: a client that does not read its response for this long counts as disconnected
ACCEPTED_AT_ONCE = 32  #: asyncio accepts this many connections before it handles the first


class ConnectionConfig(uvicorn.Config):
    """The options of the server. The connections share what it knows about them."""

    def __init__(self, app: ASGIApp, settings: Settings, **options: Any) -> None:
        super().__init__(
            app,
            http=Connection,
            ws="none",
            timeout_keep_alive=settings.idle_timeout_seconds,
            backlog=ACCEPTED_AT_ONCE,
            **options,
        )
        self.header_seconds = settings.header_timeout_seconds
        self.connections_max = min(settings.max_connections, _connections_for_files())
        self.send_seconds = SEND_SECONDS
        self.waiting: dict[Connection, None] = {}  #: connections whose client has to act, longest wait first
        self.early_refusal: EarlyRefusal | None = None  #: when the service is open


class Connection(H11Protocol):
    """Closes a client that does not finish its request head, that still sends a body after the response, or that does
    not read.

    When there are too many connections, the one that has made the service wait longest is closed. So clients that open
    connections and do nothing cannot keep others out.
    """

    config: ConnectionConfig
    _deadline: asyncio.TimerHandle | None = None
    _unread = 0  #: bytes of the body of a refused question that have not arrived

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self.config.connections_max:
            waiting = next(iter(self.config.waiting))  # this connection waits too, so there is one
            waiting.refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._unread:
            data = self._skip_body(data)
        if data and not self._refuse_early(data):
            super().data_received(data)
        self._watch()

    def _refuse_early(self, data: bytes) -> bool:
        """Refuses a question that begins here while the queue is full. The client may use the connection again."""
        refusal = self.config.early_refusal
        is_idle = self.conn.our_state is h11.IDLE and self.conn.their_state is h11.IDLE and not self._has_partial_head
        head = refusal.head(data) if refusal and is_idle else None
        if refusal is None or head is None:
            return False
        self._stop_watching()
        self._unset_keepalive_if_required()
        self.transport.write(refusal.response(head))
        self._unread = head.unread
        if not head.keeps_alive:
            self.transport.close()
        elif not head.unread:
            self._wait_for_next_request()
        return True

    def _skip_body(self, data: bytes) -> bytes:
        """Drops the rest of the body of a refused question. Returns what follows it."""
        skipped = min(self._unread, len(data))
        self._unread -= skipped
        if not self._unread:
            self._cancel_deadline()
            self._wait_for_next_request()
        return data[skipped:]

    def _wait_for_next_request(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._cancel_deadline()
        self._watch()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch()

    def refuse(self, status: HTTPStatus) -> None:
        """Closes the connection. A client gets a response if it has sent part of a head, or has had no response yet:
        a proxy could take any other response for that of its next request."""
        is_new = self.cycle is None and status != HTTPStatus.REQUEST_TIMEOUT
        self._stop_watching()
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        if self.transport.is_closing() or self._unsent:
            self.transport.abort()  # the client does not read
            return
        if is_new or self._has_partial_head:
            self.transport.write(_response(status))
        self.transport.close()

    def _watch(self) -> None:
        """Sets the deadline for what the client has to do next. Single bytes do not prolong it."""
        request = self.cycle
        is_unread = self.flow.write_paused or self.transport.is_closing()
        if request and not request.response_complete and not _is_arriving(request) and not is_unread:
            self._stop_watching()
            return
        self.config.waiting.setdefault(self)
        if is_unread:
            self._begin_deadline(self.config.send_seconds, self._require_reading, self._unsent)
        elif request and _is_arriving(request):
            self._cancel_deadline()  # its body has another
        elif self._has_partial_head:
            self._unset_keepalive_if_required()
            self._begin_deadline(self.config.header_seconds, self.refuse, HTTPStatus.REQUEST_TIMEOUT)
        elif self.timeout_keep_alive_task is None:  # an idle connection is closed by uvicorn
            self._begin_deadline(self.config.header_seconds, self.refuse, HTTPStatus.REQUEST_TIMEOUT)

    def _require_reading(self, unsent: int) -> None:
        """Closes the connection unless the client has read something since that many bytes were unsent."""
        self._deadline = None
        if self._unsent < unsent:
            self._begin_deadline(self.config.send_seconds, self._require_reading, self._unsent)
        else:
            self.transport.abort()

    def _begin_deadline(self, seconds: float, end: Callable[..., object], *arguments: object) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(seconds, end, *arguments)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_watching(self) -> None:
        self.config.waiting.pop(self, None)
        self._cancel_deadline()

    @property
    def _unsent(self) -> int:
        return self.transport.get_write_buffer_size()

    @property
    def _has_partial_head(self) -> bool:
        return bool(self.conn.trailing_data[0])

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: any client could fill the log."""


def _is_arriving(request: RequestResponseCycle) -> bool:
    return request.more_body and not request.response_started


def _connections_for_files() -> int:
    """The number of connections that leaves enough file descriptors for the rest of the service."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return max(CONNECTIONS_MIN, limit - RESERVED_FILES - ACCEPTED_AT_ONCE)


def _response(status: HTTPStatus) -> bytes:
    head = f"HTTP/1.1 {status} {status.phrase}\r\nConnection: close\r\nContent-Type: text/plain\r\n"
    body = f"{status.phrase}.\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
