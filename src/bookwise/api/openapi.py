"""The routes → /openapi.json: each with the problems, headers and examples it has in common with others."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from bookwise.api import problems
from bookwise.api.examples import RESPONSES
from bookwise.api.idempotency import HEADER, REPLAYED

UNKEYED = ("/", "/widget.js", "/health", "/ingestion/webhook/github")  #: the latter is signed instead
METHODS = frozenset({"get", "post", "put", "patch", "delete"})

TAGS = {
    "chat": "Questions, answered from the book only.",
    "sessions": "What was said in a session.",
    "feedback": "What readers think of the answers, and what they ask.",
    "search": "Reading the book without asking it.",
    "books": "The books there are.",
    "openai": "A book as a model, for clients of OpenAI's chat completions.",
    "ingestion": "Bringing a book in line with the folder it comes from; for admins.",
    "page": "The chat for people.",
    "service": "Whether the service works, what it is, and what it did.",
}

#: Said of a parameter by its name where a route says nothing.
PARAMETERS = {
    "session_id": "The session's id, a UUID of version 4.",
    "chunk_id": "The chunk's id, as a search or a source names it.",
    "parent_doc_id": "The lesson's id, as a search names it.",
    "book_id": "The book's id.",
    "job_id": "The job's number.",
    "before": "How many chunks before it.",
    "after": "How many chunks after it.",
    "limit": "How many at most.",
    "offset": "How many to leave out.",
    "model": "`bookwise` for the only or the default book, or a book's id.",
    "x-hub-signature-256": "`sha256=` and the HMAC-SHA256 of the body in hex, made with the shared secret.",
    "x-github-event": "What happened: `push` or `ping`; others are ignored.",
    "x-github-delivery": "The delivery's id; one that was seen before is not done again.",
}

TEXT = {"type": "string"}
REQUEST_ID = {"description": "The id of the request, as it stands in the log.", "required": True, "schema": TEXT}
RETRY_AFTER = {"description": "Seconds to wait.", "required": True, "schema": {"type": "string", "pattern": "^[0-9]+$"}}
CHALLENGE = {"description": "How to send a key.", "required": True, "schema": {"const": "Bearer", **TEXT}}
SENT_AGAIN = {"description": "This is the response an earlier request had.", "schema": {"const": "true", **TEXT}}
RATE = {
    "RateLimit-Policy": {"description": "How often the key may ask: quota `q` in `w` seconds.", "schema": TEXT},
    "RateLimit": {"description": "What is left of it: `r` requests; more in `t` seconds.", "schema": TEXT},
}

PROBLEM: dict[str, Any] = {
    "type": "object",
    "description": "What went wrong, by RFC 9457. `type` and `code` are stable; the texts are for people.",
    "required": ["type", "title", "status", "detail", "code", "request_id"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
        "instance": {"type": "string", "format": "uri-reference"},
        "code": {"type": "string", "description": "The last part of `type`, or finer."},
        "request_id": TEXT,
        "advice": {"type": "string", "description": "What to do next."},
        "errors": {
            "type": "array",
            "description": "Where the request is not valid.",
            "items": {
                "type": "object",
                "required": ["pointer", "in", "message"],
                "properties": {"pointer": TEXT, "in": TEXT, "message": TEXT},
            },
        },
        "error": {
            "type": "object",
            "description": "Under /v1 only: the same for OpenAI's clients.",
            "required": ["message", "type", "code", "param"],
            "properties": {"message": TEXT, "type": TEXT, "code": TEXT, "param": {"type": ["string", "null"]}},
        },
    },
}


def describe(app: FastAPI) -> dict[str, Any]:
    """What FastAPI finds out, completed."""
    if not app.openapi_schema:
        tags = [{"name": name, "description": text} for name, text in TAGS.items()]
        told = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=tags
        )
        for path, operation in _operations(told):
            _complete(path, operation)
        statuses = sorted({s for _, o in _operations(told) for s, r in o["responses"].items() if "$ref" in r})
        components = told["components"]
        components["schemas"] = {
            name: shape for name, shape in components["schemas"].items() if "ValidationError" not in name
        } | {"Problem": PROBLEM}
        components["responses"] = {f"Problem{status}": _problem(int(status)) for status in statuses}
        components["securitySchemes"] = {
            "key": {"type": "http", "scheme": "bearer", "description": "Made with `bookwise keys create`."}
        }
        app.openapi_schema = told
    return app.openapi_schema


def _operations(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in told["paths"].items():
        for method, operation in item.items():
            if method in METHODS:
                yield path, operation


def _complete(path: str, operation: dict[str, Any]) -> None:
    has_key = path not in UNKEYED
    operation["security"] = [{"key": []}] if has_key else []
    if not has_key:
        operation["responses"].pop("429", None)  # nobody is counted
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        if parameter["name"] in PARAMETERS:
            parameter.setdefault("description", PARAMETERS[parameter["name"]])
    is_repeatable = any(parameter["name"] == HEADER for parameter in parameters)
    for status, response in operation["responses"].items():
        if _is_problem(status, response):
            operation["responses"][status] = {"$ref": f"#/components/responses/Problem{status}"}
            continue
        headers = {"X-Request-ID": REQUEST_ID, **(RATE if has_key else {})}
        headers |= {REPLAYED: SENT_AGAIN} if is_repeatable and status != "204" else {}
        response["headers"] = headers | response.get("headers", {})
        _add_example(response)
    operation["responses"] = dict(sorted(operation["responses"].items()))


def _is_problem(status: str, response: dict[str, Any]) -> bool:
    """A problem by its media type, or what FastAPI says of a request that is not valid."""
    return status == "422" or set(response.get("content", ())) == {problems.MEDIA_TYPE}


def _add_example(response: dict[str, Any]) -> None:
    content = response.get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    if name in RESPONSES:
        content.setdefault("example", RESPONSES[name])


def _problem(status: int) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-ID": REQUEST_ID}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = CHALLENGE
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = RETRY_AFTER
    slugs = [slug for slug, (known, _) in problems.TYPES.items() if known == status]
    content = {"schema": problems.REF, "examples": {slug: {"value": _example(slug)} for slug in slugs}}
    if not slugs:
        content = {"schema": problems.REF, "example": _example("", status)}
    return {"description": problems.titles(status), "headers": headers, "content": {problems.MEDIA_TYPE: content}}


def _example(slug: str, status: int = 0) -> dict[str, Any]:
    title = problems.TYPES[slug][1] if slug else HTTPStatus(status).phrase
    told = problems.Problem(slug=slug, status=status, code=slug or f"http-{status}", detail=f"{title}.")
    return {**told.body("/chat/run"), "request_id": "0f8b5e0e4f9c4d6c9a3b1f0d2c4e6a88"}
