"""`bookwise`: the terminal face. No traceback reaches a user unless they ask for it."""

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
from bookwise.cli.exit_codes import BUG, INTERRUPTED, OK, USAGE, exit_code
from bookwise.domain.errors import BookwiseError

#: Where each command lives. A module is only loaded when it is asked for: `search` should not wait for the parsers.
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
    "mcp": "mcp",
    "serve": "serve",
    "doctor": "doctor",
    "config": "config",
}


def program(arguments: list[str]) -> typer.Typer:
    """The program with the commands this command line may need; with all of them where it names none."""
    app = typer.Typer(
        name="bookwise",
        help="Turns a technical book into something you can ask: it answers only from the book, or refuses.",
        epilog="Start with: bookwise ingest PATH-TO-YOUR-BOOK, then: bookwise ask 'your question'",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(main)
    named = [COMMANDS[word] for word in arguments if word in COMMANDS][:1]
    for module in named or dict.fromkeys(COMMANDS.values()):
        import_module(f"bookwise.cli.{module}").add_to(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bookwise {__version__}")
        raise typer.Exit


def main(
    ctx: typer.Context,
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder that holds all state (default: .bookwise here).")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    ctx.obj = {"data_dir": data_dir}


def run() -> None:
    """The console script."""
    gc.disable()  # collecting while a thousand modules load finds nothing and costs a tenth of a second
    code = run_with(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader left; nothing more to say
    sys.stderr.flush()
    os._exit(code)  # everything is closed; taking a hundred modules apart would cost a tenth of a second


def run_with(arguments: list[str]) -> int:
    """Runs a command line and returns its exit code; every error has become a message on stderr."""
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
        sys.stderr.write("Stopped.\n")
        return INTERRUPTED
    except BrokenPipeError:
        return OK
    except Exception as error:
        if "--debug" in arguments:
            raise
        sys.stderr.write(
            f"This is a bug in Bookwise ({type(error).__name__}). Run again as `bookwise --debug …` to see where.\n"
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
