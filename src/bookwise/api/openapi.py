"""The routes → /openapi.json: FastAPI's document, plus the headers and problems that routes have in common.

A route declares everything else itself: summary, parameters, examples (on its models) and its own problems.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from bookwise.api import problems
from bookwise.api.idempotency import HEADER, REPLAYED

METHODS = frozenset({"get", "post", "put", "patch", "delete"})

TAGS = {
    "chat": "Ask questions; answers come only from the book.",
    "sessions": "Read and delete stored sessions.",
    "feedback": "Rate answers, and see what readers ask.",
    "author": "Work on the questions that a book does not answer well; for admins.",
    "search": "Search and read a book without asking a question.",
    "books": "List and remove books.",
    "openai": "Books as models, for clients of OpenAI's chat completions API.",
    "ingestion": "Bring a book in line with its source; for admins.",
    "keys": "List, create and revoke API keys; for admins.",
    "page": "The chat page, the chat script and the author's view.",
    "service": "State, configuration and metrics of the service.",
}

TEXT = {"type": "string"}
REQUEST_ID = {"description": "Id of the request, as in the log.", "required": True, "schema": TEXT}
RETRY_AFTER = {"description": "Seconds to wait.", "required": True, "schema": {"type": "string", "pattern": "^[0-9]+$"}}
CHALLENGE = {"description": "How to send a key.", "required": True, "schema": {"const": "Bearer", **TEXT}}
IS_REPLAYED = {"description": "The stored response of an earlier request.", "schema": {"const": "true", **TEXT}}
RATE = {
    "RateLimit-Policy": {"description": "Limit of the key: `q` requests in `w` seconds.", "schema": TEXT},
    "RateLimit": {"description": "Requests left (`r`), and seconds until there is one more (`t`).", "schema": TEXT},
}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document of the app, built once."""
    if not app.openapi_schema:
        tags = [{"name": name, "description": text} for name, text in TAGS.items()]
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=tags
        )
        statuses = {status for operation in _operations(document) for status in _complete(operation)}
        components = document["components"]
        for unused in ("HTTPValidationError", "ValidationError"):
            components["schemas"].pop(unused, None)
        components["schemas"]["Problem"] = problems.SCHEMA
        components["responses"] = {f"Problem{status}": _problem(int(status)) for status in sorted(statuses)}
        app.openapi_schema = document
    return app.openapi_schema


def _operations(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in document["paths"].values():
        yield from (operation for method, operation in item.items() if method in METHODS)


def _complete(operation: dict[str, Any]) -> set[str]:
    """Adds the common headers, and replaces problems by references; returns the statuses of the problems."""
    responses = operation["responses"]
    needs_key = "security" in operation
    if not needs_key:
        responses.pop("429", None)  # without a key, requests are not counted
    is_idempotent = any(parameter["name"] == HEADER for parameter in operation.get("parameters", ()))
    statuses = {status for status, response in responses.items() if _is_problem(status, response)}
    for status, response in responses.items():
        headers = {"X-Request-ID": REQUEST_ID, **(RATE if needs_key else {})}
        headers |= {REPLAYED: IS_REPLAYED} if is_idempotent and status != "204" else {}
        response["headers"] = headers | response.get("headers", {})
    for status in statuses:
        responses[status] = {"$ref": f"#/components/responses/Problem{status}"}
    operation["responses"] = dict(sorted(responses.items()))
    return statuses


def _is_problem(status: str, response: dict[str, Any]) -> bool:
    """A problem by its media type, or the 422 that FastAPI adds to every route with input."""
    return status == "422" or set(response.get("content", ())) == {problems.MEDIA_TYPE}


def _problem(status: int) -> dict[str, Any]:
    headers: dict[str, Any] = {"X-Request-ID": REQUEST_ID}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = CHALLENGE
    if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers["Retry-After"] = RETRY_AFTER
    slugs = [slug for slug, (its_status, _) in problems.TYPES.items() if its_status == status] or [""]
    values = {slug or f"http-{status}": {"value": problems.example(slug, status)} for slug in slugs}
    content = {problems.MEDIA_TYPE: {"schema": problems.REF, "examples": values}}
    return {"description": problems.titles(status), "headers": headers, "content": content}
