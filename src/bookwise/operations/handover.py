"""An operation on a busy data folder → the same operation, run by the service that holds the folder."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx2
from pydantic import TypeAdapter

from bookwise import __version__
from bookwise.adapters.data_folder import running_service
from bookwise.domain.errors import (
    BadLesson,
    BookwiseError,
    Conflict,
    DataFolderBusy,
    InvalidInput,
    ModelUnavailable,
    Unavailable,
)
from bookwise.domain.jobs import LessonOutcome
from bookwise.operations.jobs import CancelJob, IngestBook, JobReport, ReadJob
from bookwise.operations.operation import Operation
from bookwise.settings import Settings

POLL_SECONDS = 0.1
CANCEL_SECONDS = 30.0
TIMEOUT = httpx2.Timeout(600.0, connect=5.0)  #: an answer may take minutes; Ctrl-C ends the wait

T = TypeVar("T")


class Operator:
    """A client of the running service, with the rights of the data folder's owner."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def execute(self, operation: Operation[Any, T]) -> T:
        """Returns or raises what the operation would return or raise in this process."""
        kind = type(operation)
        try:
            body = TypeAdapter(kind).dump_json(operation)
        except ValueError as error:
            raise InvalidInput(
                "A name that is not valid Unicode cannot be sent to the running service.",
                advice="Rename it, or stop the service first.",
            ) from error
        try:
            response = self._client.post(f"/operator/{kind.__name__}", content=body)
        except httpx2.TransportError as error:
            raise Unavailable(
                f"The service at {self._client.base_url}, which holds the data folder, is unreachable.",
                advice="Try again.",
            ) from error
        if response.is_error:
            raise _response_error(response)
        result: T = TypeAdapter(kind.run.__annotations__["return"]).validate_json(response.content)
        return result

    def ingest(self, operation: IngestBook, report: Callable[[LessonOutcome], None]) -> JobReport:
        """Follows the job to its end; Ctrl-C cancels it."""
        job_id = self.execute(operation).job_id
        try:
            job_report = self._follow(job_id, report)
        except KeyboardInterrupt:
            self._cancel(job_id)
            raise
        except Unavailable as error:
            advice = f"Job {job_id} goes on as soon as the service does; `bookwise jobs {job_id}` shows it."
            raise Unavailable(error.message, advice=advice) from error
        if job_report.job.status == "failed":
            raise job_error(job_id, job_report.job.error_message or "")
        return job_report

    def _follow(self, job_id: int, report: Callable[[LessonOutcome], None]) -> JobReport:
        reported = 0
        while True:
            job_report = self.execute(ReadJob(job_id=job_id))
            for outcome in job_report.outcomes[reported:]:
                report(outcome)
            if job_report.job.completed_at is not None:
                return job_report
            reported = len(job_report.outcomes)
            time.sleep(POLL_SECONDS)

    def _cancel(self, job_id: int) -> None:
        """Returns when the job has ended, so that the next job of the book can start."""
        self.execute(CancelJob(job_id=job_id))
        deadline = time.monotonic() + CANCEL_SECONDS
        while self.execute(ReadJob(job_id=job_id)).job.completed_at is None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def hand_over(settings: Settings, busy: DataFolderBusy, operation: Operation[Any, T]) -> T:
    """Runs the operation in the service that holds the busy data folder; raises `busy` when no service does."""
    with operator_of(settings, busy) as operator:
        return operator.execute(operation)


@contextmanager
def operator_of(settings: Settings, busy: DataFolderBusy) -> Iterator[Operator]:
    """A client of the service that holds the busy data folder. Raises `busy` unless a service of our version does."""
    service = running_service(settings.data_dir)
    if service is None:
        raise busy
    if service.version != __version__:
        raise DataFolderBusy(
            f"The service that holds the data folder is Bookwise {service.version}; this is {__version__}.",
            advice="Restart the service.",
        )
    headers = {"Authorization": f"Bearer {service.secret}", "Content-Type": "application/json"}
    with httpx2.Client(base_url=service.url, headers=headers, timeout=TIMEOUT, trust_env=False) as client:
        yield Operator(client)


def job_error(job_id: int, message: str) -> BookwiseError:
    """The error that a failed job would have raised in this process."""
    code, separator, detail = message.partition(": ")
    if separator and code in _error_kinds(BookwiseError):
        return _error(code, detail, advice=f"`bookwise jobs {job_id}` shows what was done.")
    return Conflict(f"Job {job_id} has failed: {message}.", advice="Start the ingestion again to continue.")


def _response_error(response: httpx2.Response) -> BookwiseError:
    try:
        problem: dict[str, Any] = response.json()
    except ValueError:
        problem = {}
    message = problem.get("detail") or f"The running service responded with status {response.status_code}."
    return _error(problem.get("code", ""), message, advice=problem.get("advice", ""), reason=problem.get("reason", ""))


def _error(code: str, message: str, *, advice: str, reason: str = "") -> BookwiseError:
    kind = _error_kinds(BookwiseError).get(code, Unavailable)
    if issubclass(kind, BadLesson | ModelUnavailable):
        return kind(reason, message, advice=advice)
    return kind(message, advice=advice)


def _error_kinds(kind: type[BookwiseError]) -> dict[str, type[BookwiseError]]:
    """Every error class by its code."""
    kinds = {kind.__new__(kind).code: kind}
    for child in kind.__subclasses__():
        kinds |= _error_kinds(child)
    return kinds
