"""An errand whose data folder is busy → the same errand, carried out by the service that holds the folder."""

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
TIMEOUT = httpx2.Timeout(600.0, connect=5.0)  #: an answer may take long; who has no patience presses Ctrl-C

T = TypeVar("T")


class Operator:
    """Speaks to the running service as the owner of its data folder."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def execute(self, errand: Operation[Any, T]) -> T:
        """What the errand returns, or raises, when it is run here."""
        kind = type(errand)
        try:
            body = TypeAdapter(kind).dump_json(errand)
        except ValueError as error:
            raise InvalidInput(
                "A name that is not valid Unicode cannot be handed to the running service.",
                advice="Rename it, or stop the service first.",
            ) from error
        try:
            answer = self._client.post(f"/operator/{kind.__name__}", content=body)
        except httpx2.TransportError as error:
            raise Unavailable(
                f"The service at {self._client.base_url}, which holds the data folder, does not answer.",
                advice="Try again.",
            ) from error
        if answer.is_error:
            raise _told(answer)
        found: T = TypeAdapter(kind.run.__annotations__["return"]).validate_json(answer.content)
        return found

    def ingest(self, wanted: IngestBook, report: Callable[[LessonOutcome], None]) -> JobReport:
        """Follows the job to its end; Ctrl-C cancels it."""
        job_id = self.execute(wanted).job_id
        try:
            done = self._followed(job_id, report)
        except KeyboardInterrupt:
            self._cancel(job_id)
            raise
        except Unavailable as error:
            advice = f"Job {job_id} goes on as soon as the service does; `bookwise jobs {job_id}` shows it."
            raise Unavailable(error.message, advice=advice) from error
        if done.job.status == "failed":
            raise _ended(job_id, done.job.error_message or "")
        return done

    def _followed(self, job_id: int, report: Callable[[LessonOutcome], None]) -> JobReport:
        seen = 0
        while True:
            found = self.execute(ReadJob(job_id=job_id))
            for outcome in found.outcomes[seen:]:
                report(outcome)
            if found.job.completed_at is not None:
                return found
            seen = len(found.outcomes)
            time.sleep(POLL_SECONDS)

    def _cancel(self, job_id: int) -> None:
        """Returns when the job has ended, so that the book is free for the next one."""
        self.execute(CancelJob(job_id=job_id))
        deadline = time.monotonic() + CANCEL_SECONDS
        while self.execute(ReadJob(job_id=job_id)).job.completed_at is None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


def hand_over(settings: Settings, busy: DataFolderBusy, errand: Operation[Any, T]) -> T:
    """Has the errand run by the service that holds the busy data folder."""
    with operator_of(settings, busy) as operator:
        return operator.execute(errand)


@contextmanager
def operator_of(settings: Settings, busy: DataFolderBusy) -> Iterator[Operator]:
    """Speaks to whoever holds the busy data folder, if it is a service of our version; else the folder is just busy."""
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


def _told(answer: httpx2.Response) -> BookwiseError:
    try:
        problem: dict[str, Any] = answer.json()
    except ValueError:
        problem = {}
    message = problem.get("detail") or f"The running service answered with {answer.status_code}."
    return _error(problem.get("code", ""), message, advice=problem.get("advice", ""), reason=problem.get("reason", ""))


def _ended(job_id: int, message: str) -> BookwiseError:
    """What a command would have raised that ran the job itself."""
    code, found, detail = message.partition(": ")
    if found and code in _kinds(BookwiseError):
        return _error(code, detail, advice=f"`bookwise jobs {job_id}` shows what was done.")
    return Conflict(f"Job {job_id} has failed: {message}.", advice="Start the ingestion again to continue.")


def _error(code: str, message: str, *, advice: str, reason: str = "") -> BookwiseError:
    kind = _kinds(BookwiseError).get(code, Unavailable)
    if issubclass(kind, BadLesson | ModelUnavailable):
        return kind(reason, message, advice=advice)
    return kind(message, advice=advice)


def _kinds(kind: type[BookwiseError]) -> dict[str, type[BookwiseError]]:
    """Every error by its code."""
    found = {kind.__new__(kind).code: kind}
    for child in kind.__subclasses__():
        found |= _kinds(child)
    return found
