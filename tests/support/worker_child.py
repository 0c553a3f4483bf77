"""`bookwise worker`, or another command, with a fault, named by environment variables, when it reads or publishes a
lesson.

FAULT_LESSON names the lesson. FAULT says what happens: `kill` (SIGKILL while it is read), `hang` (reading never ends),
`stop` (SIGSTOP after its batch was staged and before it is committed; once, FAULT_MARK names a file that says so).
With RESTART set, each worker that is killed is replaced by a new one, which has imported everything already.
"""

import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

from bookwise.adapters.sql.steps import SqlSteps
from bookwise.cli.main import run
from bookwise.ingestion import parse as parsing
from bookwise.ingestion import stages
from bookwise.operations import worker
from bookwise.wiring import server_index, stores  # noqa: F401 - imported before a worker is forked


def _parse_with_fault(file: Any, *arguments: Any) -> Any:
    if file.source_file == os.environ["FAULT_LESSON"]:
        if os.environ["FAULT"] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        threading.Event().wait()
    return _parse(file, *arguments)


async def _commit_after_stop(steps: SqlSteps, step: Any, book: Any, records: Any, outcomes: Any) -> None:
    if any(record.source_file == os.environ["FAULT_LESSON"] for record in records):
        with suppress(FileExistsError):
            os.close(os.open(os.environ["FAULT_MARK"], os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGSTOP)
    await _commit(steps, step, book, records, outcomes)


def _restart_when_killed() -> None:
    """Returns in each worker; the process that was started only waits for them, and writes how each ended."""
    while (worker_id := os.fork()) != 0:
        _, status = os.waitpid(worker_id, 0)
        code = os.waitstatus_to_exitcode(status)
        os.write(2, f"worker {worker_id} ended with {code}\n".encode())
        if code != -signal.SIGKILL:
            os._exit(code)


_parse: Any = parsing.parse
_commit: Any = SqlSteps.commit


def run_with_fault() -> None:
    """`bookwise …` in a process that nothing else uses, also when it starts itself anew."""
    sys.orig_argv[1:] = ["-m", "tests.support.worker_child", *sys.argv[1:]]
    worker.GRACE_SECONDS = 0.5
    fault = os.environ.get("FAULT")
    if fault == "stop":
        SqlSteps.commit = _commit_after_stop  # type: ignore[assignment, method-assign]
    elif fault:
        stages.parse = _parse_with_fault  # type: ignore[assignment, attr-defined]
    if os.environ.get("RESTART"):
        _restart_when_killed()
    run()


if __name__ == "__main__":
    run_with_fault()
