"""`worker`: runs ingestion jobs of a shared database and index."""

import gc
import json
import os
import signal
import sys
from typing import Annotated

import anyio
import typer

from bookwise.adapters.json_log import log_to_stderr
from bookwise.adapters.sql.address import parse_address
from bookwise.cli.output import printable, settings_of
from bookwise.domain.errors import Misconfigured
from bookwise.domain.jobs import count_outcomes
from bookwise.operations.worker import StepReport, run_worker
from bookwise.settings import Settings
from bookwise.text.plurals import plural
from bookwise.wiring import database_url, open_app


def add_to(app: typer.Typer) -> None:
    app.command()(worker)


def worker(
    ctx: typer.Context,
    concurrency: Annotated[
        int,
        typer.Option(min=1, max=32, help="Batches at a time: one is embedded while another is read or published."),
    ] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON for each step of a job.")] = False,
) -> None:
    """Run ingestion jobs. Several workers share the lessons of one book.

    Needs a PostgreSQL database (DATABASE_URL) and a Qdrant server (QDRANT_URL). SIGTERM stops the worker after the
    batches it is working on; a batch that takes too long is handed back to the other workers.
    """
    settings = settings_of(ctx)
    _require_shared(settings)
    gc.enable()  # off since the program started
    log_to_stderr()
    if anyio.run(_work, settings, concurrency, as_json):
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # ends a thread that cannot be stopped


def _require_shared(settings: Settings) -> None:
    if settings.needs_data_folder:
        raise Misconfigured(
            "A worker needs a database and an index that it can share with the service: a PostgreSQL database and a "
            "Qdrant server.",
            advice="Set DATABASE_URL and QDRANT_URL. Without them, `bookwise serve` runs its jobs itself.",
        )


async def _work(settings: Settings, concurrency: int, as_json: bool) -> bool:
    """Works until a signal. Returns whether the program should start anew."""
    stopping = anyio.Event()
    async with open_app(settings) as app, anyio.create_task_group() as tasks:
        assert app.steps is not None, "the data is shared"
        tasks.start_soon(_stop_at_signal, stopping)
        where = parse_address(database_url(settings)).name
        sys.stderr.write(f"Bookwise worker {os.getpid()} takes jobs from {where}, {concurrency} batches at a time\n")
        sys.stderr.flush()
        show = _print_json if as_json else _print_line
        is_stuck = await run_worker(app, app.steps, concurrency=concurrency, stopping=stopping, on_report=show)
        tasks.cancel_scope.cancel()
    return is_stuck


async def _stop_at_signal(stopping: anyio.Event) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for _ in signals:
            sys.stderr.write("Stopping after the current batches.\n")
            sys.stderr.flush()
            stopping.set()


def _print_json(report: StepReport) -> None:
    job, counts = report.step.job, count_outcomes(report.outcomes)
    line = {
        "job_id": job.job_id,
        "book_id": job.book_id,
        "step": report.step.kind,
        "result": report.result,
        "published": counts["files_processed"],
        "failed": counts["files_failed"],
        "withdrawn": counts["files_withdrawn"],
        "chunks": counts["chunks_created"],
        "seconds": round(report.seconds, 3),
        "error": report.error,
    }
    _write_line(json.dumps(line))


def _print_line(report: StepReport) -> None:
    job = report.step.job
    _write_line(printable(f"Job {job.job_id} ({job.book_id}): {_summary(report)} in {report.seconds:.1f} s."))


def _summary(report: StepReport) -> str:
    counts = count_outcomes(report.outcomes)
    match report.result:
        case "done" if report.step.kind == "plan":
            return "planned"
        case "done" if report.step.kind == "lessons":
            return f"{plural(counts['files_processed'], 'lesson')} published, {counts['files_failed']} failed"
        case "done":
            return f"completed, {plural(counts['files_withdrawn'], 'lesson')} withdrawn"
        case "lost":
            return "a batch was taken over by another worker, or the job was cancelled"
        case "handed-back":
            return f"a batch was handed back to the other workers {report.error}".strip()
        case _:
            return f"{report.result}: {report.error}"


def _write_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
