"""A request body → JSON that can be stored; or a problem that names the position of the error."""

import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

import anyio.to_thread
from fastapi import Request, Response
from fastapi.routing import APIRoute

from bookwise.api.auth.access import caller_of
from bookwise.api.auth.rate_limit import limited
from bookwise.api.problems import HttpProblem, Problem, malformed

Respond: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]

MEMBERS_MAX = 2_000  #: in a whole body; the checks of a body cost time for each
UNUSABLE = "The text contains a NUL or a lone surrogate."
INLINE_BYTES = 16 * 1024  #: larger bodies are parsed in a thread
ACCEPTED = ("application/json", "application/problem+json", "text/event-stream")


class StrictRoute(APIRoute):
    """A route that reads JSON and returns JSON or server-sent events. It parses after it checked key and rate."""

    def get_route_handler(self) -> Respond:
        respond = super().get_route_handler()

        async def handle(request: Request) -> Response:
            await limited(request, await caller_of(request))
            _require_accept(request.headers.get("accept", ""))
            if self.body_field is not None:
                _require_json(request.headers.get("content-type", ""))
            return await self.answer(StrictRequest(request.scope, request.receive), respond)

        return handle

    async def answer(self, request: Request, respond: Respond) -> Response:
        """Calls the route. Subclasses override it to do more."""
        return await respond(request)


class StrictRequest(Request):
    """Rejects what Python's JSON parser accepts: duplicate names, NaN, and characters that databases reject."""

    async def body(self) -> bytes:
        body = await super().body()
        if not body.strip():
            raise HttpProblem(malformed(0, "the body is empty"))
        return body

    async def json(self) -> Any:
        body = await self.body()
        return parse_json(body) if len(body) <= INLINE_BYTES else await anyio.to_thread.run_sync(parse_json, body)


def parse_json(body: bytes) -> Any:
    """The value of a JSON text. Raises `HttpProblem`."""
    try:
        value = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_unique_names, parse_constant=_reject_constant)
        _require_few_members(value)
        for pointer in _unusable(value, "#"):
            raise _unusable_text(pointer)
    except UnicodeDecodeError as error:
        raise HttpProblem(malformed(error.start, "not UTF-8")) from None
    except json.JSONDecodeError as error:
        raise HttpProblem(malformed(error.pos, error.msg)) from None
    except RecursionError:
        raise HttpProblem(malformed(0, "too many levels")) from None
    except ValueError as error:
        raise HttpProblem(malformed(0, str(error))) from None
    return value


def _require_few_members(value: Any) -> None:
    """Counts the members of all objects and the items of all arrays."""
    count, pending = 0, [value]
    while pending:
        value = pending.pop()
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        count += len(items)
        if count > MEMBERS_MAX:
            raise HttpProblem(
                Problem(
                    slug="payload-too-large",
                    detail=f"The body has more than {MEMBERS_MAX:,} members and items.",
                    advice="Send a smaller body.",
                )
            )
        pending.extend(items)


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = dict(pairs)
    if len(names) < len(pairs):
        raise ValueError("an object has the same name twice")
    return names


def _reject_constant(_: str) -> float:
    raise ValueError("NaN and Infinity are not JSON")


def is_storable(text: str) -> bool:
    """Whether all databases accept the text."""
    return "\x00" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def _unusable(value: Any, pointer: str) -> Iterator[str]:
    """Pointers to texts that contain a NUL or a lone surrogate."""
    if isinstance(value, str):
        if not is_storable(value):
            yield pointer
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _unusable(name, pointer)
            yield from _unusable(item, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unusable(item, f"{pointer}/{index}")


def _unusable_text(pointer: str) -> HttpProblem:
    where = {"pointer": pointer, "in": "body", "message": UNUSABLE}
    return HttpProblem(Problem(slug="validation", detail=UNUSABLE, advice="Remove it.", errors=(where,)))


def _require_json(content_type: str) -> None:
    kind = content_type.partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HttpProblem(
            Problem(
                slug="unsupported-media-type",
                detail="The body must be JSON.",
                advice="Send it with `Content-Type: application/json`.",
            )
        )


def _require_accept(accept: str) -> None:
    ranges = {part.partition(";")[0].strip().lower() for part in accept.split(",")} - {""}
    if ranges and not any(_accepts(media_range) for media_range in ranges):
        raise HttpProblem(
            Problem(
                slug="not-acceptable",
                detail="This route returns only JSON or server-sent events.",
                advice="Send `Accept: application/json` or `Accept: text/event-stream`.",
            )
        )


def _accepts(media_range: str) -> bool:
    return media_range == "*/*" or any(media_range in (kind, f"{kind.partition('/')[0]}/*") for kind in ACCEPTED)
