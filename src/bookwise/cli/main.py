"""`bookwise`: the command line. Errors are shown as messages; --debug shows tracebacks."""

import gc
import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from bookwise import __version__
from bookwise.cli.causes import is_caused_by
from bookwise.cli.closed_pipe import is_closed_pipe, silence_closed_pipe
from bookwise.cli.exit_codes import BUG, INTERRUPTED, OK, USAGE, exit_code
from bookwise.domain.errors import BookwiseError
from bookwise.domain.system_errors import system_error

#: The module of each command. Only the module of the requested command is imported: `search` needs no parsers.
COMMANDS = {
    "ingest": "ingest",
    "changes": "ingest",
    "ask": "ask",
    "chat": "chat",
    "search": "search",
    "lesson": "search",
    "context": "search",
    "validate": "evaluate",
    "calibrate": "evaluate",
    "books": "books",
    "jobs": "books",
    "insights": "insights",
    "keys": "keys",
    "serve": "serve",
    "mcp": "serve",
    "worker": "worker",
    "doctor": "doctor",
    "move": "move",
    "backup": "backup",
    "restore": "backup",
    "export": "export",
    "config": "config",
}


def program(arguments: list[str]) -> typer.Typer:
    """The program with the command that `arguments` name, or with all commands when they name none.

    The version needs none: importing all of them takes 0.7 s.
    """
    app = typer.Typer(
        name="bookwise",
        help="Ask questions about a technical book. Answers come only from the book and cite it.",
        epilog="Start with `bookwise ingest PATH`, then `bookwise ask QUESTION`.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(main)
    named = [COMMANDS[word] for word in arguments if word in COMMANDS][:1]
    for module in named or ([] if arguments == ["--version"] else dict.fromkeys(COMMANDS.values())):
        import_module(f"bookwise.cli.{module}").add_to(app)
    return app


def _show_version(requested: bool) -> None:
    if requested:
        typer.echo(f"bookwise {__version__}")
        raise typer.Exit


def main(
    ctx: typer.Context,
    data_dir: Annotated[
        Path | None, typer.Option(help="Data folder: index, database, threads (default: .bookwise).")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    ctx.obj = {"data_dir": data_dir}


def run() -> None:
    """The console script."""
    gc.disable()  # collecting garbage during the imports finds nothing and costs 0.1 s
    silence_closed_pipe()
    code = run_with(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stderr.flush()
    os._exit(code)  # everything is closed; unloading the modules would cost 0.1 s


def run_with(arguments: list[str]) -> int:
    """Runs a command line and returns its exit code. Errors are written to stderr."""
    try:
        code = program(arguments)(arguments, prog_name="bookwise", standalone_mode=False)
        return int(code or OK)
    except BookwiseError as error:
        _show(error, as_json="--json" in arguments)
        return exit_code(error)
    except TyperException as error:
        _show_usage(error)
        return USAGE
    except (KeyboardInterrupt, EOFError, typer.Abort):
        return _stopped()
    except (Exception, SystemExit, BaseExceptionGroup) as error:
        if is_closed_pipe(error):
            return OK
        if is_caused_by(error, KeyboardInterrupt):  # Python 3.11 wraps one that arrives while a class is created
            return _stopped()
        if "--debug" in arguments or not isinstance(error, Exception):
            raise
        return _show_unexpected(error, arguments)


def _stopped() -> int:
    sys.stderr.write("Stopped.\n")
    return INTERRUPTED


def _show_unexpected(error: Exception, arguments: list[str]) -> int:
    """Shows an unexpected exception and returns its exit code. What the operating system caused is not a bug."""
    reported = system_error(error, "a file or a working memory")
    if reported is not None:
        _show(reported, as_json="--json" in arguments)
        return exit_code(reported)
    sys.stderr.write(
        f"Error: unexpected {type(error).__name__}. This is a bug in Bookwise.\n"
        "  → Run `bookwise --debug …` with the same arguments and report the traceback.\n"
    )
    return BUG


def _show_usage(error: TyperException) -> None:
    show = getattr(error, "show", None)
    if show is not None:
        show()
    else:
        sys.stderr.write(f"Error: {error}\n")


def _show(error: BookwiseError, *, as_json: bool) -> None:
    if as_json:
        problem = {"code": error.code, "message": error.message, "advice": error.advice}
        sys.stderr.write(json.dumps({"error": problem}) + "\n")
    else:
        advice = f"\n  → {error.advice}" if error.advice else ""
        sys.stderr.write(f"Error: {error.message}{advice}\n")


if __name__ == "__main__":
    run()
