"""Command lines, right and wrong ones, each in a process: its exit code, and what it prints."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.apps import write_book
from tests.support.processes import Report, child
from tests.support.small_books import LESSONS

from bookwise.cli.main import run

OK, SOME_FAILED, USAGE, NOT_FOUND, CONFLICT, UNAVAILABLE, MISCONFIGURED = range(7)
UNUSED_ID = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Case:
    """A command line and its exit code."""

    code: int
    line: str
    environment: Mapping[str, str] = field(default_factory=dict)


def _with(code: int, line: str, **environment: str) -> Case:
    return Case(code, line, environment)


#: In this order, on one data folder: some need what others have done. BOOK is a folder of lessons.
CASES = (
    Case(OK, "--version"),
    Case(OK, "--help"),
    Case(USAGE, "nonsense"),
    Case(USAGE, "--nonsense books"),
    Case(OK, "books --json"),
    Case(OK, "jobs --json"),
    Case(OK, "config show --json"),
    Case(OK, "config show"),
    Case(OK, "doctor --json"),
    Case(NOT_FOUND, "search anything"),
    Case(NOT_FOUND, "ask anything --json"),
    Case(NOT_FOUND, "validate"),
    Case(NOT_FOUND, "insights"),
    Case(USAGE, "ingest"),
    Case(NOT_FOUND, "ingest ABSENT"),
    Case(NOT_FOUND, "ingest BOOK/absent.md"),
    Case(USAGE, "ingest BOOK --mode sideways"),
    Case(USAGE, "ingest BOOK --book ../outside"),
    Case(USAGE, "ingest ftp://book.example/"),
    Case(NOT_FOUND, "changes ABSENT --json"),
    Case(OK, "changes BOOK --book book --json"),
    Case(OK, "ingest BOOK --book book --json"),
    Case(OK, "ingest BOOK --book book"),
    Case(OK, "ingest BOOK --book book --mode full --json"),
    Case(OK, "ingest BOOK --book book --mode recreate"),
    Case(OK, "changes BOOK --book book"),
    Case(OK, "books"),
    Case(OK, "books --json"),
    Case(OK, "jobs"),
    Case(OK, "jobs 1 --json"),
    Case(NOT_FOUND, "jobs 4711"),
    Case(USAGE, "jobs one"),
    Case(USAGE, "jobs --limit 0"),
    Case(OK, "search publishers"),
    Case(OK, "search publishers --json --limit 20"),
    Case(USAGE, "search"),
    Case(USAGE, "search ab"),
    Case(USAGE, "search publishers --limit 21"),
    Case(USAGE, "search publishers --limit many"),
    Case(USAGE, "search publishers --tier 5"),
    Case(USAGE, "search publishers --level Z9"),
    Case(USAGE, "search publishers --layer L9"),
    Case(USAGE, "search publishers --chapter-min -1"),
    Case(OK, "search publishers --chapter-min 9 --chapter-max 9 --json"),
    Case(USAGE, "search publishers --chapter-min 9 --chapter-max 1"),
    Case(NOT_FOUND, "search publishers --book absent --json"),
    Case(OK, "ask publishers --json"),
    Case(OK, "ask zebra"),
    Case(USAGE, "ask publishers --engine psychic"),
    Case(USAGE, "ask publishers --top-k 101"),
    Case(NOT_FOUND, "ask publishers --book absent"),
    Case(OK, "lesson topics.md"),
    Case(OK, "lesson topics.md --json"),
    Case(NOT_FOUND, "lesson absent.md"),
    Case(NOT_FOUND, f"lesson {UNUSED_ID}"),
    Case(NOT_FOUND, f"context {UNUSED_ID} --json"),
    Case(NOT_FOUND, "context nonsense"),
    Case(USAGE, f"context {UNUSED_ID} --before 11"),
    Case(OK, "chat"),
    Case(NOT_FOUND, f"chat --resume {UNUSED_ID}"),
    Case(OK, "insights --json"),
    Case(USAGE, "insights --days 91"),
    Case(OK, "doctor"),
    Case(OK, "doctor --repair --json"),
    Case(OK, "keys list"),
    Case(OK, "keys create reader --json"),
    Case(USAGE, "keys create reader --rate 0"),
    Case(USAGE, "keys create reader --role king"),
    Case(USAGE, "keys create reader --origin nonsense"),
    Case(NOT_FOUND, f"keys revoke {UNUSED_ID} --json"),
    Case(NOT_FOUND, f"keys rotate {UNUSED_ID}"),
    Case(USAGE, f"keys rotate {UNUSED_ID} --grace soon"),
    Case(OK, "keys list --json"),
    Case(USAGE, "validate --min 2"),
    Case(NOT_FOUND, "validate --questions ABSENT"),
    Case(USAGE, "move --to moon"),
    Case(MISCONFIGURED, "worker"),
    Case(USAGE, "serve --port 65536"),
    _with(MISCONFIGURED, "books", BOOKWISE_EMBEDDER="psychic"),
    _with(MISCONFIGURED, "search publishers", AGENT_TOP_K="0"),
    _with(MISCONFIGURED, "books", DATABASE_URL="nonsense"),
    _with(MISCONFIGURED, "books --json", BOOKWISE_DATA_DIR="/dev/null/data"),
    Case(USAGE, "books remove book"),
    Case(NOT_FOUND, "books remove absent --yes"),
    Case(OK, "books remove book --yes --json"),
    Case(NOT_FOUND, "search publishers"),
)


def command_in_child(report: Report, folder: Path, arguments: list[str], environment: Mapping[str, str]) -> None:
    """What the program does, with its output in files."""
    for descriptor, name in ((0, "in"), (1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_TRUNC), descriptor)
    os.chdir(folder)
    os.environ.update({"BOOKWISE_DATA_DIR": str(folder / "data"), "BOOKWISE_EMBEDDER": "hashing"} | dict(environment))
    sys.argv = ["bookwise", *arguments]
    run()


def run_commands(folder: Path, count: int) -> tuple[int, list[str]]:
    """The number of command lines, and what went wrong in them."""
    write_book(folder / "BOOK", LESSONS)
    found: list[str] = []
    for case in CASES[:count]:
        with child(command_in_child, folder, case.line.split(), case.environment) as process:
            code, _ = process.ended()
        out, err = (folder / "out").read_text(), (folder / "err").read_text()
        found += [f"bookwise {case.line}: {fault}" for fault in faults(case, code, out, err)]
    return len(CASES[:count]), found


def faults(case: Case, code: int, out: str, err: str) -> list[str]:
    faults = []
    if code != case.code:
        faults.append(f"exit code {code} instead of {case.code}: {err}")
    if "Traceback" in out + err:
        faults.append("a traceback")
    if code and not err.strip():
        faults.append("fails without a message")
    if "--json" in case.line and not code and not is_json(out):
        faults.append(f"no JSON: {out[:200]}")
    return faults


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
