"""Errors → application/problem+json (RFC 9457), with a closed list of types."""

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

from bookwise.api.web_files import not_found_page
from bookwise.domain import errors
from bookwise.domain.system_errors import system_error

MEDIA_TYPE = "application/problem+json"
BASE = "https://bookwise.example/problems/"
OPENAI = "/v1/"  #: prefix of the routes for OpenAI's clients
RETRY_SECONDS = 5.0  #: when no better value is known
TEMPORARY = ("session-busy", "idempotency-in-progress")  #: conflicts that end without intervention
ERRORS_MAX = 20
POINTER_MAX = 200

logger = logging.getLogger("bookwise.api")

#: Id of the current request, for responses and logs.
request_id: ContextVar[str] = ContextVar("request_id", default="")

#: All problem types, with status and title.
TYPES: Mapping[str, tuple[int, str]] = {
    "malformed-request": (400, "The request cannot be parsed"),
    "unauthenticated": (401, "A valid API key is required"),
    "forbidden": (403, "The API key does not allow this"),
    "forbidden-origin": (403, "The API key does not work on this site"),
    "not-found": (404, "Not found"),
    "not-acceptable": (406, "The requested media type is not available"),
    "session-busy": (409, "The session is still answering a question"),
    "job-exists": (409, "The book is being ingested"),
    "idempotency-in-progress": (409, "The same request is still running"),
    "payload-too-large": (413, "The request is too large"),
    "unsupported-media-type": (415, "The media type of the body is not supported"),
    "validation": (422, "The request is not valid"),
    "idempotency-mismatch": (422, "The idempotency key belongs to another request"),
    "unsupported-source": (422, "The source cannot be read as a book"),
    "rate-limited": (429, "Too many requests"),
    "internal": (500, "Internal error"),
    "upstream-bad-response": (502, "The language model returned an invalid response"),
    "overloaded": (503, "The service is overloaded"),
    "store-unavailable": (503, "The database is unavailable"),
    "index-unavailable": (503, "The index is unavailable"),
    "index-mismatch": (503, "The book was indexed with another embedder or collection"),
    "upstream-unavailable": (503, "A required service is unavailable"),
    "upstream-timeout": (504, "The language model did not respond in time"),
    "insufficient-storage": (507, "The disk is full"),
}

BY_ERROR: Mapping[type[errors.BookwiseError], str] = {
    errors.InvalidInput: "validation",
    errors.BadSource: "unsupported-source",
    errors.BadLesson: "unsupported-source",
    errors.RequestMismatch: "idempotency-mismatch",
    errors.NotFound: "not-found",
    errors.Conflict: "overloaded",  # unexpected; a retry may succeed
    errors.DataFolderBusy: "overloaded",
    errors.JobAlreadyRunning: "job-exists",
    errors.EmbedderMismatch: "index-mismatch",
    errors.CollectionMismatch: "index-mismatch",
    errors.ThreadBusy: "session-busy",
    errors.RequestRunning: "idempotency-in-progress",
    errors.Unavailable: "overloaded",
    errors.Overloaded: "overloaded",
    errors.EmbedderUnavailable: "upstream-unavailable",
    errors.IndexUnavailable: "index-unavailable",
    errors.StoreUnavailable: "store-unavailable",
    errors.DiskFull: "insufficient-storage",
    errors.DiskError: "store-unavailable",
    errors.ModelUnavailable: "upstream-unavailable",
    errors.Denied: "forbidden",
    errors.Unauthenticated: "unauthenticated",
    errors.ForbiddenOrigin: "forbidden-origin",
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
    """One problem, as a client sees it."""

    slug: str  #: a key of `TYPES`; empty for a plain HTTP status without a type
    detail: str
    advice: str = ""
    status: int = 0  #: 0: the status of the type
    code: str = ""  #: empty: the slug
    retry_after: float | None = None
    errors: tuple[Mapping[str, str], ...] = ()
    more: tuple[tuple[str, Any], ...] = ()  #: further members

    @property
    def http_status(self) -> int:
        return self.status or TYPES[self.slug][0]

    def body(self, instance: str = "") -> dict[str, Any]:
        """The problem object, without empty members."""
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
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE) or self.slug in TEMPORARY:
            wait = RETRY_SECONDS if self.retry_after is None else self.retry_after
            return {"Retry-After": retry_after(wait)}
        return {}

    @property
    def for_openai(self) -> dict[str, Any]:
        """The problem in OpenAI's format. Its clients show only the message."""
        details = [f"{entry['pointer']}: {entry['message']}." for entry in self.errors]
        return {
            "message": " ".join([self.detail, *details] if details else filter(None, (self.detail, self.advice))),
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
    detail="The service has a bug or is misconfigured. Your request did not cause this.",
    advice="Report the request id to the operator; the log has the details.",
)
SHUTTING_DOWN = Problem(
    slug="overloaded",
    code="shutting-down",
    detail="The service is stopping. The answer ends here and is stored as incomplete.",
    advice="Ask again in a moment.",
)


def retry_after(seconds: float) -> str:
    """The value of the header for this wait."""
    return str(max(1, ceil(seconds)))


class HttpProblem(HTTPException):
    """A problem at the HTTP level, raised by the API itself."""

    def __init__(self, problem: Problem, *, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(problem.http_status, problem.detail, headers=headers)
        self.problem = problem


def problem_of(error: errors.BookwiseError) -> Problem:
    """The problem of an error, by its class or the nearest base class. Messages that contain paths, hosts or settings
    go to the log only."""
    slug = next(BY_ERROR[kind] for kind in type(error).__mro__ if kind in BY_ERROR)
    if isinstance(error, errors.ModelUnavailable):
        return model_problem(error.reason, error.message, error.advice)
    if isinstance(error, errors.Misconfigured | errors.StoreUnavailable):
        logger.error("%s %s", error.message, error.advice, extra={"code": error.code})
        return INTERNAL if slug == "internal" else replace(INTERNAL, slug=slug, detail=TYPES[slug][1] + ".")
    wait = error.retry_after if isinstance(error, errors.TooManyRequests | errors.Busy | errors.Overloaded) else None
    return Problem(slug=slug, detail=error.message, advice=error.advice, retry_after=wait)


def problem_of_exception(error: Exception) -> Problem:
    """The problem of an unexpected exception: a bug, unless the operating system caused it."""
    reported = system_error(error, "a file or a working memory")
    return INTERNAL if reported is None else problem_of(reported)


def model_problem(reason: str, detail: str, advice: str = "") -> Problem:
    """The problem of a language model that failed for this reason."""
    slug = BY_MODEL_REASON.get(reason, "upstream-unavailable")
    return Problem(slug=slug, detail=detail, advice=advice or "Ask again later.", more=(("reason", reason),))


def _of_status(error: HTTPException) -> Problem:
    if isinstance(error, HttpProblem):
        return error.problem
    status = error.status_code
    phrase = HTTPStatus(status).phrase
    slug = BY_STATUS.get(status, "")
    detail = {404: "There is no such route.", 405: "The route does not support this method."}
    return Problem(
        slug=slug,
        status=status,
        code=slug or phrase.lower().replace(" ", "-"),
        detail=detail.get(status, f"{phrase}."),
        advice="GET /openapi.json lists all routes." if status in (404, 405) else "",
    )


def _of_validation(entries: Sequence[Mapping[str, Any]]) -> Problem:
    """Names the invalid fields, but never their values."""
    first = entries[0]
    if first["type"] == "json_invalid":
        return malformed(int(first["loc"][-1]), str(first["ctx"]["error"]))
    errors_shown = tuple(_one(entry) for entry in entries[:ERRORS_MAX])
    places = ", ".join(entry["pointer"] for entry in errors_shown)
    return Problem(
        slug="validation",
        detail=f"Invalid: {places}.",
        advice="`errors` explains each field; GET /openapi.json shows the expected format.",
        errors=errors_shown,
    )


def _one(entry: Mapping[str, Any]) -> Mapping[str, str]:
    where, *path = entry["loc"] or ("body",)
    pointer = "#" + "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
    message = str(entry["msg"]).removeprefix("Value error, ")
    return {"pointer": pointer[:POINTER_MAX], "in": str(where), "message": message}


def malformed(position: int, reason: str) -> Problem:
    return Problem(
        slug="malformed-request",
        detail=f"The body is not valid JSON: {reason} at character {position}.",
        advice="Send one JSON object, UTF-8 encoded.",
    )


def install(app: FastAPI) -> None:
    """Turns every error of a route into a problem. Unexpected exceptions are handled by the middleware."""

    async def of_core(request: Request, error: Exception) -> Response:
        assert isinstance(error, errors.BookwiseError)
        return problem_of(error).response(request.url.path)

    async def of_status(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if error.status_code == HTTPStatus.NOT_FOUND and "text/html" in request.headers.get("accept", ""):
            return not_found_page(request.url.path)
        return _of_status(error).response(request.url.path, error.headers)

    async def of_validation(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _of_validation(error.errors()).response(request.url.path)

    app.add_exception_handler(errors.BookwiseError, of_core)
    app.add_exception_handler(HTTPException, of_status)
    app.add_exception_handler(RequestValidationError, of_validation)


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """These statuses as problems, for the `responses` of a route."""
    return {status: {"description": titles(status), "content": {MEDIA_TYPE: {"schema": REF}}} for status in statuses}


def titles(status: int) -> str:
    return "; ".join(title for its_status, title in TYPES.values() if its_status == status) or HTTPStatus(status).phrase


def example(slug: str, status: int) -> dict[str, Any]:
    """An example of a problem of this type, or of a plain HTTP status when the slug is empty."""
    title = TYPES[slug][1] if slug else HTTPStatus(status).phrase
    problem = Problem(slug=slug, status=status, code=slug or f"http-{status}", detail=f"{title}.")
    return {**problem.body("/chat/run"), "request_id": "0f8b5e0e4f9c4d6c9a3b1f0d2c4e6a88"}


REF = {"$ref": "#/components/schemas/Problem"}
_TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "A problem (RFC 9457). `type` and `code` are stable; the texts are for people.",
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
        "instance": {"type": "string", "format": "uri-reference"},
        "code": {"type": "string", "description": "The last part of `type`, or a more specific code."},
        "request_id": _TEXT,
        "advice": {"type": "string", "description": "What to do next."},
        "errors": {
            "type": "array",
            "description": "The invalid fields.",
            "items": {
                "type": "object",
                "required": ["pointer", "in", "message"],
                "properties": {"pointer": _TEXT, "in": _TEXT, "message": _TEXT},
            },
        },
        "error": {
            "type": "object",
            "description": "Under /v1 only: the same in OpenAI's format.",
            "required": ["message", "type", "code", "param"],
            "properties": {"message": _TEXT, "type": _TEXT, "code": _TEXT, "param": {"type": ["string", "null"]}},
        },
    },
}

#: Problems of every route, of routes that need a key, and of those that also return JSON. A route declares its other
#: problems (404, 409, 502, 504) itself; FastAPI adds 422 to every route with input.
ANYWHERE = documented(400, 403, 408, 413, 415, 500)
KEYED = ANYWHERE | documented(401, 429, 503)
RESPONSES = KEYED | documented(406)
