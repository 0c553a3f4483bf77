"""Code → docs/reference: the pages on settings, commands, errors and routes.

python -m docs.reference [--check]
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.testing import CliRunner

from bookwise.api.app import create_app
from bookwise.cli.exit_codes import BUG, INTERRUPTED, SOME_FAILED, exit_code
from bookwise.cli.main import COMMANDS, program
from bookwise.domain.errors import BadLesson, BookwiseError, ModelUnavailable
from bookwise.settings import FIELDS, LIMITS, TEXT, Settings, env_name
from bookwise.settings_checks import setting_types

FOLDER = Path(__file__).parent / "reference"
NOTE = "<!-- Written by `make docs`; edit the code instead. -->"


def settings_page() -> str:
    lines = [NOTE, "# Settings", "", "Order of precedence: command-line flag, environment, `.env`, `[settings]` in a"]
    lines += ["`bookwise.toml` in the working folder (under the name in the last column), default.", ""]
    lines += ["| environment | default | allowed | meaning | in toml |", "|---|---|---|---|---|"]
    hints = setting_types(Settings)
    for field, info in FIELDS.items():
        default = "" if info.default is None else f"`{info.default}`"
        limits = allowed(hints[field], info.metadata[LIMITS])
        lines.append(f"| `{env_name(field)}` | {default} | {limits} | {info.metadata[TEXT]} | `{field}` |")
    return "\n".join(lines) + "\n"


def allowed(hint: Any, limits: dict[str, Any]) -> str:
    if get_origin(hint) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(hint))
    return " and ".join(f"{words} {limits[key]}" for key, words in BOUNDS.items() if key in limits)


BOUNDS = {"ge": "at least", "gt": "more than", "le": "at most", "pattern": "must match"}


SUBCOMMANDS = ("books remove", "keys create", "keys list", "keys revoke", "keys rotate", "config show")


def commands_page() -> str:
    lines = [
        NOTE,
        "# Commands",
        "",
        "All commands except `chat`, `mcp` and `serve` take `--json`. Results go to stdout, everything else to stderr.",
        "",
    ]
    app = program([])
    for command in ("", *COMMANDS, *SUBCOMMANDS):
        lines += [f"## bookwise {command}".rstrip(), "", "```", help_of(app, command), "```", ""]
    return "\n".join(lines)


def help_of(app: typer.Typer, command: str) -> str:
    result = CliRunner().invoke(app, [*command.split(), "--help"], prog_name="bookwise", env={"COLUMNS": "100"})
    return "\n".join(line.rstrip() for line in result.output.strip().splitlines())


PARTLY_DONE = (
    "finished, but a lesson failed, `doctor` found a problem, `validate` or `calibrate` missed its goal, "
    "or a removal was not confirmed"
)
WITH_REASON = (BadLesson, ModelUnavailable)


def errors_page() -> str:
    lines = [
        NOTE,
        "# Errors",
        "",
        'With `--json` an error is `{"error": {"code", "message", "advice"}}` on stderr.',
        "",
    ]
    lines += ["| code | exit | meaning |", "|---|---|---|"]
    for kind in descendants(BookwiseError):
        error = kind("", "") if issubclass(kind, WITH_REASON) else kind("")
        lines.append(f"| `{error.code}` | {exit_code(error)} | {(kind.__doc__ or '').splitlines()[0]} |")
    lines += ["", "| exit | meaning |", "|---|---|", "| 0 | done |"]
    lines += [f"| {SOME_FAILED} | {PARTLY_DONE} |"]
    lines += [f"| {INTERRUPTED} | stopped by Ctrl-C |", f"| {BUG} | a bug in Bookwise |"]
    return "\n".join(lines) + "\n"


def descendants(kind: type[BookwiseError]) -> list[type[BookwiseError]]:
    return [error for child in kind.__subclasses__() for error in (child, *descendants(child))]


def openapi_file() -> str:
    schema = create_app(Settings()).openapi()
    return json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


PAGES = {
    "settings.md": settings_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
    "openapi.json": openapi_file,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when a page is out of date")
    check = parser.parse_args().check
    stale = []
    for name, write in PAGES.items():
        page, text = FOLDER / name, write()
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not check:
                FOLDER.mkdir(exist_ok=True)
                page.write_text(text, encoding="utf-8")
    if check and stale:
        sys.stderr.write(f"docs/reference/{', '.join(stale)} are out of date; run `make docs`.\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
