"""What went wrong → application/problem+json (RFC 9457), by a closed list of types."""

import logging
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from http import HTTPStatus
from math import ceil
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from bookwise.domain import errors

MEDIA_TYPE = "application/problem+json"
BASE = "https://bookwise.example/problems/"
OPENAI = "/v1/"  #: addresses below are for OpenAI's clients
RETRY_SECONDS = 5.0  #: where nobody knows better
PASSING = ("session-busy", "idempotency-in-progress")  #: conflicts that end by themselves
ERRORS_MAX = 20
POINTER_MAX = 200

logger = logging.getLogger("bookwise.api")

#: The request that is being served, for answers and logs.
request_id: ContextVar[str] = ContextVar("request_id", default="")

#: Every type there is, with its status and its title.
TYPES: Mapping[str, tuple[int, str]] = {
    "malformed-request": (400, "The request cannot be read"),
    "unauthenticated": (401, "A key is needed"),
    "forbidden": (403, "The key does not allow this"),
    "not-found": (404, "There is no such thing"),
    "not-acceptable": (406, "No answer in the form asked for"),
    "session-busy": (409, "The session is still answering"),
    "job-exists": (409, "The book is being ingested"),
    "idempotency-in-progress": (409, "The same request is still running"),
    "payload-too-large": (413, "The request is too large"),
    "unsupported-media-type": (415, "The body is in a form that is not read"),
    "validation": (422, "The request is not valid"),
    "idempotency-mismatch": (422, "The idempotency key belongs to another request"),
    "unsupported-source": (422, "The source cannot be read as a book"),
    "rate-limited": (429, "Too many requests"),
    "internal": (500, "Something is wrong with the service"),
    "upstream-bad-response": (502, "The language model gave no usable answer"),
    "overloaded": (503, "The service takes no more for now"),
    "store-unavailable": (503, "The database does not answer"),
    "index-unavailable": (503, "The index does not answer"),
    "index-mismatch": (503, "The book was indexed with another embedder"),
    "upstream-unavailable": (503, "A service this one needs does not answer"),
    "upstream-timeout": (504, "The language model did not answer in time"),
    "insufficient-storage": (507, "The disk is full"),
}

BY_ERROR: Mapping[type[errors.BookwiseError], str] = {
    errors.InvalidInput: "validation",
    errors.BadSource: "unsupported-source",
    errors.BadLesson: "unsupported-source",
    errors.RequestMismatch: "idempotency-mismatch",
    errors.NotFound: "not-found",
    errors.Conflict: "overloaded",  # something unforeseen is in the way; it may be gone in a moment
    errors.DataFolderBusy: "overloaded",
    errors.JobAlreadyRunning: "job-exists",
    errors.EmbedderMismatch: "index-mismatch",
    errors.CollectionMismatch: "index-mismatch",
    errors.ThreadBusy: "session-busy",
    errors.RequestRunning: "idempotency-in-progress",
    errors.Unavailable: "overloaded",
    errors.EmbedderUnavailable: "upstream-unavailable",
    errors.IndexUnavailable: "index-unavailable",
    errors.StoreUnavailable: "store-unavailable",
    errors.DiskFull: "insufficient-storage",
    errors.ModelUnavailable: "upstream-unavailable",
    errors.Denied: "forbidden",
    errors.Unauthenticated: "unauthenticated",
    errors.TooManyRequests: "rate-limited",
    errors.Misconfigured: "internal",
    errors.MissingModel: "upstream-unavailable",
    errors.DamagedData: "store-unavailable",
}

BY_MODEL_REASON: Mapping[str, str] = {
    "timeout": "upstream-timeout",
    "bad-response": "upstream-bad-response",
    "content-filter": "upstream-bad-response",
    "guardrail-output": "upstream-bad-response",
    "agent-loop-limit": "upstream-bad-response",
}

BY_STATUS: Mapping[int, str] = {
    status: slug
    for slug, (status, _) in TYPES.items()
    if slug in ("malformed-request", "unauthenticated", "forbidden", "not-found", "not-acceptable", "internal")
    or slug in ("payload-too-large", "unsupported-media-type", "validation", "rate-limited", "overloaded")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that went wrong, as a client is told it."""

    slug: str  #: of `TYPES`; empty for a plain HTTP status that has no type of its own
    detail: str
    advice: str = ""
    status: int = 0  #: 0: the one of the type
    code: str = ""  #: empty: the slug
    retry_after: float | None = None
    errors: tuple[Mapping[str, str], ...] = ()
    more: tuple[tuple[str, Any], ...] = ()  #: further members

    @property
    def http_status(self) -> int:
        return self.status or TYPES[self.slug][0]

    def body(self, instance: str = "") -> dict[str, Any]:
        """The problem object; what is empty is left out."""
        status = self.http_status
        members: dict[str, Any] = {
            "type": f"{BASE}{self.slug}" if self.slug else "about:blank",
            "title": TYPES[self.slug][1] if self.slug else HTTPStatus(status).phrase,
            "status": status,
            "detail": self.detail,
            "instance": quote(instance, errors="replace"),
            "code": self.code or self.slug,
            "request_id": request_id.get(),
            "advice": self.advice,
            "errors": list(self.errors),
            **dict(self.more),
        }
        return {name: value for name, value in members.items() if value}

    @property
    def headers(self) -> dict[str, str]:
        status = self.http_status
        if status == HTTPStatus.UNAUTHORIZED:
            return {"WWW-Authenticate": "Bearer"}
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE) or self.slug in PASSING:
            wait = RETRY_SECONDS if self.retry_after is None else self.retry_after
            return {"Retry-After": str(max(1, ceil(wait)))}
        return {}

    @property
    def for_openai(self) -> dict[str, Any]:
        """The same as OpenAI's clients read it: they show the message and nothing else."""
        places = [f"{entry['pointer']}: {entry['message']}." for entry in self.errors]
        return {
            "message": " ".join([self.detail, *places] if places else filter(None, (self.detail, self.advice))),
            "type": self.slug or "about:blank",
            "code": self.code or self.slug,
            "param": self.errors[0]["pointer"] if self.errors else None,
        }

    def response(self, instance: str, headers: Mapping[str, str] | None = None) -> Response:
        more = {"error": self.for_openai} if instance.startswith(OPENAI) else {}
        return JSONResponse(
            {**self.body(instance), **more},
            status_code=self.http_status,
            headers={**(headers or {}), **self.headers},
            media_type=MEDIA_TYPE,
        )


INTERNAL = Problem(
    slug="internal",
    detail="This is a bug in the service, or its setup is wrong. Nothing you sent caused it.",
    advice="Tell the operator the request id; the log says more.",
)
SHUTTING_DOWN = Problem(
    slug="overloaded",
    code="shutting-down",
    detail="The service is being stopped; the answer ends here and is kept as incomplete.",
    advice="Ask again in a moment.",
)


class HttpProblem(HTTPException):
    """A problem of HTTP itself, which the core knows nothing about."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.http_status, problem.detail)
        self.problem = problem


def problem_of(error: errors.BookwiseError) -> Problem:
    """The problem an error of the core becomes: by its class, else by its family. What speaks of paths, hosts and
    settings is told the operator, in the log."""
    slug = next(BY_ERROR[kind] for kind in type(error).__mro__ if kind in BY_ERROR)
    if isinstance(error, errors.ModelUnavailable):
        return model_problem(error.reason, error.message, error.advice)
    if isinstance(error, errors.Misconfigured | errors.StoreUnavailable):
        logger.error("%s %s", error.message, error.advice, extra={"code": error.code})
        return INTERNAL if slug == "internal" else replace(INTERNAL, slug=slug, detail=TYPES[slug][1] + ".")
    wait = error.retry_after if isinstance(error, errors.TooManyRequests) else None
    return Problem(slug=slug, detail=error.message, advice=error.advice, retry_after=wait)


def model_problem(reason: str, detail: str, advice: str = "") -> Problem:
    """The problem of a language model that fails for this reason."""
    slug = BY_MODEL_REASON.get(reason, "upstream-unavailable")
    return Problem(slug=slug, detail=detail, advice=advice or "Ask again later.", more=(("reason", reason),))


def _of_status(error: HTTPException) -> Problem:
    if isinstance(error, HttpProblem):
        return error.problem
    status = error.status_code
    phrase = HTTPStatus(status).phrase
    slug = BY_STATUS.get(status, "")
    detail = {404: "There is nothing at this address.", 405: "This address does not know this method."}
    return Problem(
        slug=slug,
        status=status,
        code=slug or phrase.lower().replace(" ", "-"),
        detail=detail.get(status, f"{phrase}."),
        advice="GET /openapi.json lists what there is." if status in (404, 405) else "",
    )


def _of_validation(found: Sequence[Mapping[str, Any]]) -> Problem:
    """What is wrong where, never with the value itself."""
    first = found[0]
    if first["type"] == "json_invalid":
        return malformed(int(first["loc"][-1]), str(first["ctx"]["error"]))
    errors_shown = tuple(_one(entry) for entry in found[:ERRORS_MAX])
    places = ", ".join(entry["pointer"] for entry in errors_shown)
    return Problem(
        slug="validation",
        detail=f"Not valid: {places}.",
        advice="`errors` says what is wrong with each; GET /openapi.json shows what is expected.",
        errors=errors_shown,
    )


def _one(entry: Mapping[str, Any]) -> Mapping[str, str]:
    where, *path = entry["loc"] or ("body",)
    pointer = "#" + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
    message = str(entry["msg"]).removeprefix("Value error, ")
    return {"pointer": pointer[:POINTER_MAX], "in": str(where), "message": message}


def malformed(position: int, why: str) -> Problem:
    return Problem(
        slug="malformed-request",
        detail=f"The body is no valid JSON: {why} at character {position}.",
        advice="Send one JSON object, UTF-8 encoded.",
    )


def install(app: FastAPI) -> None:
    """Every error of a route becomes a problem. What nobody expected is the middleware's."""

    async def of_core(request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.BookwiseError)
        return problem_of(error).response(request.url.path)

    async def of_status(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _of_status(error).response(request.url.path, error.headers)

    async def of_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _of_validation(error.errors()).response(request.url.path)

    app.add_exception_handler(errors.BookwiseError, of_core)
    app.add_exception_handler(HTTPException, of_status)
    app.add_exception_handler(RequestValidationError, of_validation)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These statuses as problems, for a route's `responses`."""
    return {status: {"description": titles(status), "content": {MEDIA_TYPE: {"schema": REF}}} for status in statuses}


def titles(status: int) -> str:
    return "; ".join(title for known, title in TYPES.values() if known == status) or HTTPStatus(status).phrase


REF = {"$ref": "#/components/schemas/Problem"}

#: What any request can be answered with, and what one to a route that needs a key and speaks JSON. What a route adds
#: to that (404, 409, 502, 504) it says itself; 422 is added where there is something to validate.
ANYWHERE = documented(400, 403, 408, 413, 415, 500)
KEYED = ANYWHERE | documented(401, 429, 503)
RESPONSES = KEYED | documented(406)
