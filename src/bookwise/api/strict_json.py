"""A request's body → JSON that every store can keep: one reading of it, or a problem that says where."""

import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeAlias

from fastapi import Request, Response
from fastapi.routing import APIRoute

from bookwise.api.auth.access import caller_of
from bookwise.api.auth.rate_limit import limited
from bookwise.api.problems import HttpProblem, Problem, malformed

Respond: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]

ACCEPTED = ("application/json", "application/problem+json", "text/event-stream")


class StrictRoute(APIRoute):
    """A route that reads JSON and answers with JSON or a stream of it."""

    def get_route_handler(self) -> Respond:
        respond = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            try:
                _require_accept(request.headers.get("accept", ""))
                if self.body_field is not None:
                    _require_json(request.headers.get("content-type", ""))
                return await self.answer(StrictRequest(request.scope, request.receive), respond)
            except HttpProblem:  # who has no key learns nothing else, and who has one is counted
                await limited(request, await caller_of(request))
                raise

        return strictly

    async def answer(self, request: Request, respond: Respond) -> Response:
        """What the route responds; for routes that do more than that."""
        return await respond(request)


class StrictRequest(Request):
    """Refuses what Python's reader lets through: names given twice, NaN, characters that no database takes."""

    async def body(self) -> bytes:
        body = await super().body()
        if not body.strip():
            raise HttpProblem(malformed(0, "there is nothing"))
        return body

    async def json(self) -> Any:
        body = await self.body()
        try:
            found = json.loads(body.decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_refused)
            for pointer in _unusable(found, "#"):
                raise _unusable_text(pointer)
        except UnicodeDecodeError as error:
            raise HttpProblem(malformed(error.start, "not UTF-8")) from None
        except json.JSONDecodeError as error:
            raise HttpProblem(malformed(error.pos, error.msg)) from None
        except RecursionError:
            raise HttpProblem(malformed(0, "too many levels")) from None
        except ValueError as error:
            raise HttpProblem(malformed(0, str(error))) from None
        return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name is given twice in the object")
    return found


def _refused(_: str) -> float:
    raise ValueError("NaN and Infinity are no JSON")


def _unusable(value: Any, pointer: str) -> Iterator[str]:
    """Where a text holds a NUL or half of a surrogate pair."""
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
            yield pointer
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _unusable(name, pointer)
            yield from _unusable(item, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unusable(item, f"{pointer}/{index}")


def _unusable_text(pointer: str) -> HttpProblem:
    message = "The text holds a NUL or half of a surrogate pair."
    where = {"pointer": pointer, "in": "body", "message": message}
    return HttpProblem(Problem(slug="validation", detail=message, advice="Remove it.", errors=(where,)))


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
    if ranges and not any(_covers(wanted) for wanted in ranges):
        raise HttpProblem(
            Problem(
                slug="not-acceptable",
                detail="This answers in JSON only, or in server-sent events of it.",
                advice="Send `Accept: application/json` or `Accept: text/event-stream`.",
            )
        )


def _covers(wanted: str) -> bool:
    return wanted == "*/*" or any(wanted in (kind, f"{kind.partition('/')[0]}/*") for kind in ACCEPTED)
