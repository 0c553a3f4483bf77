"""`doctor`: compares files, catalog and index of each book, and repairs them."""

from dataclasses import asdict, replace
from functools import partial
from typing import Annotated

import anyio
import typer

from bookwise.cli.exit_codes import OK, SOME_FAILED
from bookwise.cli.output import JsonFlag, console, execute, print_json, printable, settings_of
from bookwise.domain.errors import DataFolderBusy
from bookwise.operations.doctor import DiagnoseBooks, Diagnosis, DoctorReport, FileCheck, check_files
from bookwise.text.plurals import plural


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    ctx: typer.Context,
    repair: Annotated[bool, typer.Option("--repair", help="Repair the problems found.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare source, catalog and index of each book; check the data.

    Exits with 1 when there is a problem that was not repaired.
    """
    files = _check_files(ctx, repair=repair)
    report = execute(ctx, DiagnoseBooks(repair=repair, storage=files.problems))
    report = replace(report, notes=(*report.notes, *files.moved))
    if as_json:
        print_json({"healthy": report.healthy, "repaired": repair, **asdict(report)})
    else:
        _show(report, repair=repair)
    solved = all(diagnosis.healthy or (repair and diagnosis.can_repair) for diagnosis in report.books)
    is_stored = not report.storage or (repair and report.storage == files.problems)
    raise typer.Exit(OK if solved and is_stored else SOME_FAILED)


def _check_files(ctx: typer.Context, *, repair: bool) -> FileCheck:
    """What is wrong with the files. While a service uses them, they are not compared."""
    try:
        return anyio.run(partial(check_files, settings_of(ctx), repair=repair))
    except DataFolderBusy:
        return FileCheck()


def _show(report: DoctorReport, *, repair: bool) -> None:
    out, diagnoses = console(), report.books
    if not diagnoses:
        out.print("There is no book yet. Run [bold]bookwise ingest PATH[/].")
    for diagnosis in diagnoses:
        out.print(f"{diagnosis.book_id}: {_state(diagnosis, repair=repair)}", markup=False)
        for problem in _problems(diagnosis):
            out.print(printable(f"  {problem}"), markup=False)
    for problem in report.storage:
        out.print(printable(f"storage: {problem}"), markup=False)
    if not repair and (report.storage or any(diagnosis.can_repair for diagnosis in diagnoses)):
        out.print("Run `bookwise doctor --repair` to repair these problems.", markup=False)
    for note in report.notes:
        out.print(f"Note: {note}", markup=False)


def _state(diagnosis: Diagnosis, *, repair: bool) -> str:
    if diagnosis.healthy:
        return "healthy"
    if diagnosis.blocked:
        return "not examined"
    return "repaired" if repair else "needs repair"


def _problems(diagnosis: Diagnosis) -> list[str]:
    problems = [finding.message for finding in diagnosis.findings]
    if diagnosis.to_publish or diagnosis.to_withdraw:
        to_publish = plural(diagnosis.to_publish, "lesson")
        problems.append(f"files: {to_publish} to publish, {diagnosis.to_withdraw} to withdraw")
    if diagnosis.source:
        problems.append(f"files not compared: {diagnosis.source}")
    return [*problems, diagnosis.blocked] if diagnosis.blocked else problems
