"""/ingestion: start jobs, follow them, cancel them, preview changes, and receive GitHub webhooks."""

import hashlib
import hmac
import re
from dataclasses import replace
from typing import Annotated, Any, Literal, Self

import anyio
import anyio.to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from bookwise.api.auth.access import Admin, require_book
from bookwise.api.hidden_paths import hide_paths
from bookwise.api.idempotency import IdempotentRoute
from bookwise.api.problems import documented
from bookwise.api.request_body import LARGE_BYTES, read_large_body
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.access import Caller
from bookwise.domain.errors import BadSource, InvalidInput, NotFound, SourceNotFound, Unauthenticated
from bookwise.domain.jobs import IngestionJob, IngestionMode, job_not_found
from bookwise.operations.sources import Difference, preview_changes
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.books import EXAMPLE_FILE, JOB_EXAMPLE, OUTCOME_EXAMPLE, IngestionJobReport, LessonReport
from bookwise.schemas.wire import EXAMPLE_BOOK_ID, Shape, examples

WEBHOOK = "/ingestion/webhook/github"
WEBHOOK_BODY_MAX = 25 * 1024 * 1024  #: what GitHub sends at most

BookId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]

_SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")

router = APIRouter(prefix="/ingestion", tags=["ingestion"], route_class=IdempotentRoute)
webhook_router = APIRouter(tags=["ingestion"])  #: authenticated by a signature, not by a key


class TriggerRequest(Shape):
    """The book to ingest, and how."""

    model_config = examples({"book_id": EXAMPLE_BOOK_ID})

    book_id: BookId
    mode: IngestionMode = "incremental"


class JobStatusResponse(Shape):
    """A job, with the outcome of each lesson so far."""

    model_config = examples({"job": JOB_EXAMPLE, "lessons": [OUTCOME_EXAMPLE]})

    job: IngestionJobReport
    lessons: tuple[LessonReport, ...]


class JobsResponse(Shape):
    """Jobs, newest first."""

    model_config = examples({"jobs": [JOB_EXAMPLE]})

    jobs: tuple[IngestionJobReport, ...]


class UnreadableLesson(Shape):
    """A lesson that cannot be ingested, and why."""

    source_file: str
    reason: str
    message: str


class ChangesResponse(Shape):
    """What an incremental ingest would do: the source files to add, replace and remove."""

    model_config = examples(
        {
            "book_id": EXAMPLE_BOOK_ID,
            "new": [],
            "modified": [EXAMPLE_FILE],
            "deleted": [],
            "unchanged": 28,
            "unreadable": [],
        }
    )

    book_id: str
    new: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    unchanged: int = Field(ge=0)
    unreadable: tuple[UnreadableLesson, ...]

    @classmethod
    def of(cls, book_id: str, difference: Difference) -> Self:
        return cls(
            book_id=book_id,
            new=tuple(file.source_file for file in difference.changes.new),
            modified=tuple(file.source_file for file in difference.changes.modified),
            deleted=difference.changes.deleted,
            unchanged=len(difference.changes.unchanged),
            unreadable=tuple(
                UnreadableLesson(source_file=lesson.source_file, reason=lesson.reason, message=lesson.message)
                for lesson in difference.unreadable
            ),
        )


class WebhookReceipt(Shape):
    """What was done with a webhook delivery. For an accepted push: the job that ingests it, or that it waits for."""

    model_config = examples({"outcome": "accepted", "job": JOB_EXAMPLE})

    outcome: Literal["accepted", "duplicate", "ignored", "pong"]
    job: IngestionJobReport | None = None


class _Repository(BaseModel):
    full_name: str


class _Push(BaseModel):
    """The fields of GitHub's push event that are used."""

    ref: str
    deleted: bool = False
    repository: _Repository


STARTED: dict[int | str, dict[str, Any]] = {
    202: {
        "description": "The job. It runs in the background.",
        "headers": {"Location": {"description": "Where to read its status.", "schema": {"type": "string"}}},
    }
}
RECEIVED: dict[int | str, dict[str, Any]] = {
    200: {"model": WebhookReceipt, "description": "Nothing to do: a ping, or a repeated delivery."},
    202: {"description": "Accepted or ignored."},
}
PUSH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A webhook delivery from GitHub.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "examples": {
                    "push": {
                        "summary": "A push to the branch of the book",
                        "value": {"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}},
                    }
                },
            }
        },
    }
}
OptionalBookId = Annotated[BookId | None, Query(description="Book id.")]
JobId = Annotated[int, Path(description="Job number.")]
Signature = Annotated[
    str, Header(description="`sha256=` and the HMAC-SHA256 of the body in hex, keyed with the secret.")
]
Event = Annotated[str, Header(description="Event name. `push` and `ping` are handled, others are ignored.")]


@router.post("/trigger", status_code=202, summary="Ingest a book again", responses=STARTED | documented(404, 409, 507))
async def trigger(body: TriggerRequest, caller: Admin, request: Request, response: Response) -> IngestionJobReport:
    """Starts a job that ingests the book again from its source. The job runs in the background."""
    require_book(caller, body.book_id)
    state = state_of(request)
    job = await state.runner.trigger(body.book_id, body.mode)
    response.headers["Location"] = f"/ingestion/status/{job.job_id}"
    return _report(job, state)


@router.get("/status/{job_id}", summary="Read the status of a job", responses=documented(404))
async def status(job_id: JobId, caller: Admin, request: Request) -> JobStatusResponse:
    """Returns a running or finished job with the outcome of each lesson."""
    state = state_of(request)
    job = await _visible(job_id, caller, state)
    outcomes = await state.app.jobs.outcomes(job_id)
    shown = [replace(outcome, message=hide_paths(outcome.message, job.source)) for outcome in outcomes]
    return JobStatusResponse(job=_report(job, state), lessons=tuple(map(LessonReport.of, shown)))


@router.get("/jobs", summary="List the jobs", responses=documented(404))
async def jobs(
    caller: Admin,
    request: Request,
    book_id: OptionalBookId = None,
    limit: Annotated[int, Query(ge=1, le=100, description="Maximum number of jobs.")] = 20,
) -> JobsResponse:
    """Returns the newest jobs of one book or of all books."""
    if book_id is not None:
        require_book(caller, book_id)
    state = state_of(request)
    store = state.app.jobs
    books: list[str | None] = [book_id] if book_id is not None else [*caller.books] or [None]
    candidates = [job for book in books for job in await store.jobs(book, limit=limit)]
    newest = sorted(candidates, key=lambda job: job.job_id, reverse=True)[:limit]
    return JobsResponse(jobs=tuple(_report(job, state) for job in newest))


@router.post("/jobs/{job_id}/cancel", status_code=202, summary="Cancel a job", responses=documented(404, 409, 507))
async def cancel(job_id: JobId, caller: Admin, request: Request) -> IngestionJobReport:
    """Stops a job after the lessons it is publishing. Published lessons stay."""
    state = state_of(request)
    await _visible(job_id, caller, state)
    return _report(await state.runner.cancel(job_id), state)


@router.get("/changes", summary="Preview the next ingest", responses=documented(404))
async def changes(
    book_id: Annotated[BookId, Query(description="Book id.")], caller: Admin, request: Request
) -> ChangesResponse:
    """Returns the lessons that an ingest would add, replace or remove now."""
    require_book(caller, book_id)
    app = state_of(request).app
    try:
        return ChangesResponse.of(book_id, await preview_changes(book_id, app))
    except (BadSource, SourceNotFound) as error:
        source = (await app.catalog.book(book_id)).source
        message, advice = hide_paths(error.message, source), hide_paths(error.advice, source)
        raise type(error)(message, advice=advice) from error


@webhook_router.post(
    WEBHOOK,
    status_code=202,
    summary="Receive a GitHub webhook",
    responses=RECEIVED | documented(404, 409, 507),
    openapi_extra=PUSH,
)
async def github_webhook(
    request: Request,
    response: Response,
    book_id: OptionalBookId = None,
    x_hub_signature_256: Signature = "",
    x_github_event: Event = "",
) -> WebhookReceipt:
    """A push to the configured branch ingests the book. The request is authenticated by its signature, not by a key. A
    push that is delivered again is not handled again."""
    state = state_of(request)
    body = await _signed_body(request, x_hub_signature_256, _secret(state))
    if x_github_event == "ping":
        response.status_code = 200
        return WebhookReceipt(outcome="pong")
    if x_github_event != "push" or not _is_relevant(await _push_from(body), state):
        return WebhookReceipt(outcome="ignored")
    chosen = book_id or (await select_book(state.app.catalog, None)).id
    # Not GitHub's id of the delivery: the signature does not cover it, so anyone who has seen a push could change it.
    return await _delivered(f"{x_hub_signature_256} {chosen}", chosen, state, response)


async def _delivered(delivery_id: str, book_id: str, state: ServiceState, response: Response) -> WebhookReceipt:
    deliveries = state.app.deliveries
    if not await deliveries.claim(delivery_id):
        response.status_code = 200
        return WebhookReceipt(outcome="duplicate")
    try:
        job = await state.runner.trigger_latest(book_id)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await deliveries.release(delivery_id)  # it may come again
        raise
    await deliveries.keep(delivery_id)
    return WebhookReceipt(outcome="accepted", job=_report(job, state))


def _report(job: IngestionJob, state: ServiceState) -> IngestionJobReport:
    """The job without the places of its folders, which are for the operator."""
    known = (job.source, state.settings.data_dir.absolute())
    message = hide_paths(job.error_message, *known) if job.error_message else job.error_message
    return IngestionJobReport.of(replace(job, error_message=message))


def _secret(state: ServiceState) -> str:
    """The secret that GitHub signs with. Raises `NotFound` unless secret and repository are configured."""
    settings = state.settings
    if settings.github_webhook_secret is None or not settings.github_repository:
        raise NotFound("The webhook is not configured.", advice="Set GITHUB_WEBHOOK_SECRET and GITHUB_REPOSITORY.")
    return settings.github_webhook_secret.get_secret_value()


async def _signed_body(request: Request, signature: str, secret: str) -> bytes:
    """The body, hashed while it arrives. A signature that cannot be valid is refused before the body is read."""
    digest = hmac.new(secret.encode(), digestmod=hashlib.sha256)
    is_possible = bool(_SIGNATURE.fullmatch(signature))
    body = await read_large_body(request, WEBHOOK_BODY_MAX, on_part=digest.update) if is_possible else b""
    if not is_possible or not hmac.compare_digest(f"sha256={digest.hexdigest()}", signature):
        raise Unauthenticated("The signature is not valid.", advice="Configure the same secret here and at GitHub.")
    return body


async def _push_from(body: bytes) -> _Push:
    try:
        if len(body) > LARGE_BYTES:
            return await anyio.to_thread.run_sync(_Push.model_validate_json, body)
        return _Push.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput(
            "The body is not a GitHub push event.", advice="Set the webhook's content type to application/json."
        ) from error


def _is_relevant(push: _Push, state: ServiceState) -> bool:
    settings = state.settings
    return (
        push.repository.full_name.lower() == (settings.github_repository or "").lower()
        and push.ref == f"refs/heads/{settings.github_branch}"
        and not push.deleted
    )


async def _visible(job_id: int, caller: Caller, state: ServiceState) -> IngestionJob:
    """A job of a book that the caller may not see does not exist for them."""
    job = await state.app.jobs.job(job_id)
    if not caller.may_see(job.book_id):
        raise job_not_found(job_id)
    return job
