"""The reader of the output goes away: `bookwise export threads | head -1` ends quietly.

The exit code is 0, also under `set -o pipefail`: the reader has all it wanted, and whether a command notices depends on
how much it has left to write. SIGPIPE stays ignored, because its default would also kill a process whose network
connection breaks, and would leave the data folder open.
"""

import logging

from bookwise.cli.causes import is_caused_by


def is_closed_pipe(error: BaseException | None) -> bool:
    """Whether a closed pipe caused the error. Typer and rich exit with 1 then."""
    return is_caused_by(error, BrokenPipeError)


def silence_closed_pipe() -> None:
    """The event loop does not report what a closed pipe interrupted."""
    logging.getLogger("asyncio").addFilter(_is_worth_logging)


def _is_worth_logging(record: logging.LogRecord) -> bool:
    return not (record.exc_info and is_closed_pipe(record.exc_info[1]))
