"""The client of a running service that executes operations in it. Loads httpx2 and pydantic."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from pydantic import TypeAdapter

from bookwise.adapters.tls import tls_context
from bookwise.domain.errors import BookwiseError, InvalidInput, Unavailable
from bookwise.domain.jobs import LessonOutcome
from bookwise.operations.error_codes import error_with_code, job_error
from bookwise.operations.jobs import CancelJob, IngestBook, JobReport, ReadJob
from bookwise.operations.operation import Operation

POLL_SECONDS = 0.1
CANCEL_SECONDS = 30.0
TIMEOUT = httpx2.Timeout(600.0, connect=5.0)  #: a repair or a validation takes minutes; Ctrl-C ends the wait

T = TypeVar("T")


class Operator:
    """A client of the running service, with the rights of the owner of its data folder."""

    def __init__(self, client: httpx2.Client) -> None:
        self._client = client

    def execute(self, operation: Operation[Any, T]) -> T:
        """Returns or raises the same as `operation.run` would in this process."""
        kind = type(operation)
        try:
            body = TypeAdapter(kind).dump_json(operation)
        except ValueError as error:
            raise InvalidInput(
                "A file or folder name is not valid Unicode and cannot be sent to the running service.",
                advice="Rename it, or stop the service and run the command again.",
            ) from error
        try:
            response = self._client.post(f"/operator/{kind.__name__}", content=body)
        except httpx2.TransportError as error:
            raise Unavailable(
                f"The service at {self._client.base_url} has the data folder, but does not respond.",
                advice="Check that the service is running, then try again.",
            ) from error
        if response.is_error:
            raise _error_of(response)
        result: T = TypeAdapter(kind.run.__annotations__["return"]).validate_json(response.content)
        return result

    def ingest(self, request: IngestBook, on_outcome: Callable[[LessonOutcome], None]) -> JobReport:
        """Starts the job and follows it to its end. Ctrl-C cancels the job; a second Ctrl-C does not wait for that."""
        with _catch_interrupt() as interrupt:
            job_id = self.execute(request).job_id
            try:
                report = self._follow(job_id, interrupt, on_outcome)
            except Unavailable as error:
                advice = f"Job {job_id} continues when the service is back. `bookwise jobs {job_id}` shows its state."
                raise Unavailable(error.message, advice=advice) from error
        if report.job.status == "failed":
            raise job_error(job_id, report.job.error_message or "")
        return report

    def _follow(self, job_id: int, interrupt: "_Interrupt", on_outcome: Callable[[LessonOutcome], None]) -> JobReport:
        count = 0
        while True:
            report = self.execute(ReadJob(job_id=job_id))
            for outcome in report.outcomes[count:]:
                on_outcome(outcome)
            ended = report.job.completed_at is not None
            if interrupt.received:
                if not ended:
                    self._cancel(job_id)
                raise KeyboardInterrupt
            if ended:
                return report
            count = len(report.outcomes)
            time.sleep(POLL_SECONDS)

    def _cancel(self, job_id: int) -> None:
        """Waits until the job has ended, so that the next job of the book can start."""
        self.execute(CancelJob(job_id=job_id))
        deadline = time.monotonic() + CANCEL_SECONDS
        while self.execute(ReadJob(job_id=job_id)).job.completed_at is None and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)


@dataclass(slots=True)
class _Interrupt:
    received: bool = False


@contextmanager
def _catch_interrupt() -> Iterator[_Interrupt]:
    """Records the first Ctrl-C. The second one raises KeyboardInterrupt.

    Raised in the middle of a request, it can leave a lock of the client held, and the next request waits for ever.
    """
    interrupt = _Interrupt()
    if threading.current_thread() is not threading.main_thread():  # Ctrl-C reaches the main thread only
        yield interrupt
        return

    def record(*_: object) -> None:
        interrupt.received = True
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, record)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def open_operator(url: str, *, secret: str) -> Iterator[Operator]:
    """A client of the service at this address, closed at the end of the block."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    with httpx2.Client(base_url=url, headers=headers, timeout=TIMEOUT, trust_env=False, verify=tls_context()) as client:
        yield Operator(client)


def _error_of(response: httpx2.Response) -> BookwiseError:
    try:
        problem: dict[str, Any] = response.json()
    except ValueError:
        problem = {}
    message = problem.get("detail") or f"The running service responded with status {response.status_code}."
    return error_with_code(
        problem.get("code", ""), message, advice=problem.get("advice", ""), reason=problem.get("reason", "")
    )
