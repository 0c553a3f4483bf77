"""A request with an `Idempotency-Key` runs once; a repeated request gets the stored response."""

import hashlib
import json
import logging
import re
from dataclasses import dataclass
from typing import Any

import anyio
from fastapi import Request, Response
from starlette.types import Message, Receive, Scope, Send

from bookwise.api.auth.access import caller_of
from bookwise.api.problems import HttpProblem, Problem
from bookwise.api.sse import EventStream
from bookwise.api.state import state_of
from bookwise.api.strict_json import Respond, StrictRoute
from bookwise.domain.errors import BookwiseError
from bookwise.ports import KeptResponse, ResponseStore

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
KEY_MAX = 255
EXTRA_SECONDS = 60.0  #: how much longer than its answer a request may take
DONE = b"event: done\n"

PARAMETER: dict[str, Any] = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "A unique name for this request, as a quoted string. A request with the same key and body within 24 "
    f"hours does not run again: it gets the stored response, with `{REPLAYED}: true`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 512},
    "example": '"8e03978e-40d5-43dd-bc93-6894a57f9324"',
}

_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
_BARE = re.compile(r"[A-Za-z0-9!#$%&'*+./:=@^_`|~-]+")

logger = logging.getLogger("bookwise.api")


class IdempotentRoute(StrictRoute):
    """A route whose requests with a body run once per idempotency key and caller."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if self.body_field is not None:
            self.openapi_extra = {**(self.openapi_extra or {}), "parameters": [PARAMETER]}

    async def answer(self, request: Request, respond: Respond) -> Response:
        if self.body_field is None or HEADER not in request.headers:
            return await respond(request)
        key = _key_in(request.headers.getlist(HEADER))
        caller = await caller_of(request)
        state = state_of(request)
        lease = state.settings.answer_timeout_seconds + EXTRA_SECONDS
        claim = _Claim(state.app.responses, caller.owner, key, until=anyio.current_time() + lease)
        fingerprint = _fingerprint(request, await request.body())
        stored = await claim.store.claim(caller.owner, key, fingerprint, lease_seconds=lease)
        return await claim.fulfil(request, respond) if stored is None else _replay(stored)


@dataclass(frozen=True, slots=True)
class _Claim:
    """The right to run the request of an idempotency key."""

    store: ResponseStore
    owner: str
    key: str
    until: float  #: after that, another request may claim the key

    async def fulfil(self, request: Request, respond: Respond) -> Response:
        try:
            response = await respond(request)
        except BaseException:
            await self.settle(None)
            raise
        if isinstance(response, EventStream):
            return _RecordedStream(response, self)
        is_final = response.status_code in (200, 202) and not _is_interrupted(bytes(response.body))
        await self.settle(_stored(response, bytes(response.body)) if is_final else None)
        return response

    async def settle(self, response: KeptResponse | None) -> None:
        """Stores the response; without one, the next request with the key runs. A failure to store is only logged."""
        if anyio.current_time() >= self.until:
            return
        with anyio.CancelScope(shield=True):
            try:
                if response is None:
                    await self.store.release(self.owner, self.key)
                else:
                    await self.store.keep(self.owner, self.key, response)
            except BookwiseError as error:
                logger.warning("response.not-stored", extra={"code": error.code})


class _RecordedStream(Response):
    """A stream that is stored when its `done` event is reached; a stream that is cut off is not stored."""

    def __init__(self, stream: EventStream, claim: _Claim) -> None:
        self.status_code, self.raw_headers, self.background = stream.status_code, stream.raw_headers, None
        self._stream, self._claim = stream, claim

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, is_done = bytearray(), False

        async def record(message: Message) -> None:
            nonlocal body, is_done
            part = message.get("body", b"")
            body += part
            if part.startswith(DONE):  # store first: a client that has seen `done` can replay it
                is_done = True
                await self._claim.settle(_stored(self._stream, bytes(body)))
            await send(message)

        try:
            await self._stream(scope, receive, record)
        finally:
            if not is_done:
                await self._claim.settle(None)


def _key_in(headers: list[str]) -> str:
    """The key: an RFC 8941 string, or the same without quotes when it needs none."""
    text = headers[0].strip() if len(headers) == 1 else ""
    if quoted := _QUOTED.fullmatch(text):
        key = re.sub(r"\\(.)", r"\1", quoted[1])
    else:
        key = text if _BARE.fullmatch(text) else ""
    if not 0 < len(key) <= KEY_MAX:
        raise HttpProblem(
            Problem(
                slug="malformed-request",
                detail=f"{HEADER} must be one quoted string of 1 to {KEY_MAX} printable ASCII characters.",
                advice='Send a new UUID with each new request: "8e03978e-40d5-43dd-bc93-6894a57f9324".',
            )
        )
    return key


def _fingerprint(request: Request, body: bytes) -> str:
    return hashlib.sha256(f"{request.method} {request.url.path}\n".encode() + body).hexdigest()


def _is_interrupted(body: bytes) -> bool:
    return bool(json.loads(body).get("outcome") == "interrupted")


def _stored(response: Response, body: bytes) -> KeptResponse:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in response.raw_headers}
    return KeptResponse(
        status=response.status_code,
        headers={name: value for name, value in headers.items() if name != "content-length"},
        body=body,
    )


def _replay(stored: KeptResponse) -> Response:
    return Response(stored.body, status_code=stored.status, headers={**stored.headers, REPLAYED: "true"})
