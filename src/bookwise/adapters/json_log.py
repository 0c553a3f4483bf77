"""Log records as lines of JSON on stderr, for programs that run for a long time."""

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A log record as one line of JSON. `context` adds fields to every line."""

    def __init__(self, context: Callable[[], Mapping[str, str]] = dict) -> None:
        super().__init__()
        self._context = context

    def format(self, record: logging.LogRecord) -> str:
        facts = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._context(),
            **facts,
            "error": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({name: value for name, value in fields.items() if value != ""}, default=str)


def log_to_stderr(context: Callable[[], Mapping[str, str]] = dict) -> None:
    """Logs warnings of every library, and what Bookwise reports."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines(context))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("bookwise").setLevel(logging.INFO)
