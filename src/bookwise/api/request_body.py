"""Reads the body of a request, within a size limit and a deadline."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import anyio
from fastapi import FastAPI, Request
from starlette.datastructures import Headers
from starlette.types import Message, Receive

from bookwise.api.problems import HttpProblem, Problem

BODY_SECONDS = 30.0
LARGE_BYTES = 1024 * 1024
LARGE_AT_ONCE = 2  #: bodies beyond LARGE_BYTES in memory, of all clients together

_INCOMPLETE = Problem(slug="malformed-request", detail="The body is incomplete: the client has disconnected.")


async def read_body(
    receive: Receive,
    limit: int,
    *,
    on_part: Callable[[bytes], object] | None = None,
    large: anyio.CapacityLimiter | None = None,
) -> bytes | Problem | None:
    """The body; None when the client has disconnected. A body beyond LARGE_BYTES waits for its turn at `large`."""
    body = bytearray()
    async with AsyncExitStack() as turn:
        with anyio.move_on_after(BODY_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return None
                part = message.get("body", b"")
                if large is not None and len(body) <= LARGE_BYTES < len(body) + len(part):
                    await turn.enter_async_context(large)
                body += part
                if len(body) > limit:
                    return too_large(limit)
                if on_part is not None:
                    on_part(part)
                if not message.get("more_body", False):
                    return bytes(body)
    return Problem(slug="", status=408, code="request-timeout", detail="The body did not arrive in time.")


def add_large_bodies(app: FastAPI) -> None:
    """Makes `read_large_body` work for the routes of this app."""
    app.state.large_bodies = anyio.CapacityLimiter(LARGE_AT_ONCE)


async def read_large_body(request: Request, limit: int, *, on_part: Callable[[bytes], object] | None = None) -> bytes:
    """The body of a route that reads it itself, after it knows who sends it. `on_part` sees each part as it arrives."""
    if problem := length_problem(request.headers, limit):
        raise HttpProblem(problem)
    body = await read_body(request.receive, limit, on_part=on_part, large=request.app.state.large_bodies)
    if isinstance(body, Problem):
        raise HttpProblem(body, headers={"Connection": "close"})
    if body is None:
        raise HttpProblem(_INCOMPLETE)
    return body


def replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Receives the body as one message, then the messages that follow."""
    pending = [body]

    async def receive_body() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return receive_body


def length_problem(headers: Headers, limit: int) -> Problem | None:
    length = headers.get("content-length", "")
    return too_large(limit) if length.isdecimal() and int(length[:20]) > limit else None


def too_large(limit: int) -> Problem:
    return Problem(
        slug="payload-too-large",
        detail=f"The body is larger than {limit:,} bytes.",
        advice="Send a smaller body.",
        more=(("limit_bytes", limit),),
    )
