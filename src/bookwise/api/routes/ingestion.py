"""Requests about ingestion → jobs, their state, and what an ingest would do."""

import hashlib
import hmac
from typing import Annotated, Any, Literal, Self

from fastapi import APIRouter, Body, Header, Query, Request, Response
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from bookwise.api.auth.access import Admin, require_book
from bookwise.api.idempotency import IdempotentRoute
from bookwise.api.job_runner import Difference
from bookwise.api.problems import documented
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.access import Caller
from bookwise.domain.errors import InvalidInput, NotFound, Unauthenticated
from bookwise.domain.jobs import IngestionJob, IngestionMode
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.books import IngestionJobReport, LessonReport
from bookwise.schemas.wire import Shape

DELIVERY_ID_MAX = 100

BookId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]

router = APIRouter(prefix="/ingestion", tags=["ingestion"], route_class=IdempotentRoute)


class TriggerRequest(Shape):
    """Which book to ingest again, and how."""

    book_id: BookId
    mode: IngestionMode = "incremental"


class JobStatusResponse(Shape):
    """A job and what it has done with each lesson so far."""

    job: IngestionJobReport
    lessons: tuple[LessonReport, ...]


class JobsResponse(Shape):
    """Newest first."""

    jobs: tuple[IngestionJobReport, ...]


class UnreadableLesson(Shape):
    source_file: str
    reason: str
    message: str


class ChangesResponse(Shape):
    """What an incremental ingest would do: source files, and how many it would leave alone."""

    book_id: str
    new: tuple[str, ...]
    modified: tuple[str, ...]
    deleted: tuple[str, ...]
    unchanged: int = Field(ge=0)
    unreadable: tuple[UnreadableLesson, ...]

    @classmethod
    def of(cls, book_id: str, found: Difference) -> Self:
        return cls(
            book_id=book_id,
            new=tuple(file.source_file for file in found.changes.new),
            modified=tuple(file.source_file for file in found.changes.modified),
            deleted=found.changes.deleted,
            unchanged=len(found.changes.unchanged),
            unreadable=tuple(
                UnreadableLesson(source_file=lesson.source_file, reason=lesson.reason, message=lesson.message)
                for lesson in found.unreadable
            ),
        )


class WebhookReceipt(Shape):
    """What became of a delivery. An accepted push shows the job that ingests it or that it waits for."""

    outcome: Literal["accepted", "duplicate", "ignored", "pong"]
    job: IngestionJobReport | None = None


class _Repository(BaseModel):
    full_name: str


class _Push(BaseModel):
    """The little of GitHub's push that is looked at: it says that something changed, not what."""

    ref: str
    deleted: bool = False
    repository: _Repository


EXAMPLES = {"incremental": {"summary": "Only what changed", "value": {"book_id": "physical-ai-robotics"}}}
STARTED: dict[int | str, dict[str, Any]] = {
    202: {
        "description": "The job, which runs on its own.",
        "headers": {"Location": {"description": "Where to watch it.", "schema": {"type": "string"}}},
    }
}
RECEIVED: dict[int | str, dict[str, Any]] = {
    200: {"model": WebhookReceipt, "description": "Nothing is left to do: a ping, or a delivery that was seen before."},
    202: {"description": "Accepted, or of no interest here."},
}
PUSH: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "A delivery as GitHub sends it.",
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "examples": {
                    "push": {
                        "summary": "A push to the branch the book is written on",
                        "value": {"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}},
                    }
                },
            }
        },
    }
}
Triggering = Annotated[TriggerRequest, Body(openapi_examples=EXAMPLES)]


@router.post("/trigger", status_code=202, summary="Ingest a book again", responses=STARTED | documented(404, 409, 507))
async def trigger(asked: Triggering, caller: Admin, request: Request, response: Response) -> IngestionJobReport:
    """Starts to ingest a book from where it was ingested before; the job runs on its own."""
    require_book(caller, asked.book_id)
    job = await state_of(request).runner.trigger(asked.book_id, asked.mode)
    response.headers["Location"] = f"/ingestion/status/{job.job_id}"
    return IngestionJobReport.of(job)


@router.get("/status/{job_id}", summary="Look up a job", responses=documented(404))
async def status(job_id: int, caller: Admin, request: Request) -> JobStatusResponse:
    """A job, while it runs and after, with the outcome of each lesson."""
    service = state_of(request)
    job = await _visible(job_id, caller, service)
    lessons = await service.app.jobs.outcomes(job_id)
    return JobStatusResponse(job=IngestionJobReport.of(job), lessons=tuple(map(LessonReport.of, lessons)))


@router.get("/jobs", summary="List the jobs", responses=documented(404))
async def jobs(
    caller: Admin,
    request: Request,
    book_id: BookId | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> JobsResponse:
    """The newest jobs, of one book or of all."""
    if book_id is not None:
        require_book(caller, book_id)
    store = state_of(request).app.jobs
    books: list[str | None] = [book_id] if book_id is not None else [*caller.books] or [None]
    found = [job for book in books for job in await store.jobs(book, limit=limit)]
    newest = sorted(found, key=lambda job: job.job_id, reverse=True)[:limit]
    return JobsResponse(jobs=tuple(map(IngestionJobReport.of, newest)))


@router.post("/jobs/{job_id}/cancel", status_code=202, summary="Cancel a job", responses=documented(404, 409, 507))
async def cancel(job_id: int, caller: Admin, request: Request) -> IngestionJobReport:
    """Ends a job after the lessons it is publishing; what is published stays."""
    service = state_of(request)
    await _visible(job_id, caller, service)
    return IngestionJobReport.of(await service.runner.cancel(job_id))


@router.get("/changes", summary="Preview the next ingest", responses=documented(404))
async def changes(book_id: BookId, caller: Admin, request: Request) -> ChangesResponse:
    """What an ingest would do now: new, modified and deleted lessons."""
    require_book(caller, book_id)
    return ChangesResponse.of(book_id, await state_of(request).runner.changes(book_id))


@router.post(
    "/webhook/github",
    status_code=202,
    summary="Take a delivery of GitHub",
    responses=RECEIVED | documented(404, 409, 507),
    openapi_extra=PUSH,
)
async def github_webhook(
    request: Request,
    response: Response,
    book_id: BookId | None = None,
    x_hub_signature_256: Annotated[str, Header()] = "",
    x_github_event: Annotated[str, Header()] = "",
    x_github_delivery: Annotated[str, Header()] = "",
) -> WebhookReceipt:
    """A push to the configured branch ingests the book; the signature takes the place of a key."""
    service = state_of(request)
    body = await request.body()
    _require_signature(x_hub_signature_256, body, _secret(service))
    if x_github_event == "ping":
        response.status_code = 200
        return WebhookReceipt(outcome="pong")
    if x_github_event != "push" or not _is_ours(_push_from(body), service):
        return WebhookReceipt(outcome="ignored")
    return await _delivered(x_github_delivery, book_id, service, response)


async def _delivered(
    delivery_id: str, book_id: str | None, service: ServiceState, response: Response
) -> WebhookReceipt:
    if not 0 < len(delivery_id) <= DELIVERY_ID_MAX:
        raise InvalidInput("X-GitHub-Delivery is missing or too long.", advice="Send it as GitHub does.")
    deliveries = service.runner.deliveries
    if not deliveries.is_new(delivery_id):
        response.status_code = 200
        return WebhookReceipt(outcome="duplicate")
    try:
        chosen = book_id or (await select_book(service.app.catalog, None)).id
        job = await service.runner.trigger_latest(chosen)
    except BaseException:
        deliveries.forget(delivery_id)  # GitHub's second try comes with the same id
        raise
    return WebhookReceipt(outcome="accepted", job=IngestionJobReport.of(job))


def _secret(service: ServiceState) -> str:
    """What GitHub signs with; without a repository of our own there is nothing to be told about."""
    settings = service.settings
    if settings.github_webhook_secret is None or not settings.github_repository:
        raise NotFound("There is no webhook here.", advice="Set GITHUB_WEBHOOK_SECRET and GITHUB_REPOSITORY.")
    return settings.github_webhook_secret.get_secret_value()


def _require_signature(signature: str, body: bytes, secret: str) -> None:
    expected = f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        raise Unauthenticated("The signature does not fit.", advice="Give GitHub the secret that is configured here.")


def _push_from(body: bytes) -> _Push:
    try:
        return _Push.model_validate_json(body)
    except ValidationError as error:
        raise InvalidInput(
            "The body is not a push as GitHub sends it.", advice="Set the webhook's content type to application/json."
        ) from error


def _is_ours(push: _Push, service: ServiceState) -> bool:
    settings = service.settings
    return (
        push.repository.full_name.lower() == (settings.github_repository or "").lower()
        and push.ref == f"refs/heads/{settings.github_branch}"
        and not push.deleted
    )


async def _visible(job_id: int, caller: Caller, service: ServiceState) -> IngestionJob:
    """A job of a book that the caller may not see does not exist for them."""
    job = await service.app.jobs.job(job_id)
    if not caller.may_see(job.book_id):
        raise NotFound(f"There is no ingestion job {job_id}.", advice="List the jobs to see their numbers.")
    return job
