"""Turns domain values into columns that read back the same on SQLite and PostgreSQL."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, FunctionElement, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeDecorator, TypeEngine

from bookwise.domain.errors import InvalidInput

# PostgreSQL stores no NUL, and neither database stores half of a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnreadableValue(ValueError):
    """A stored value is not what was written; the border turns this into `DamagedData`."""


class Words(TypeDecorator[str]):
    """Text that comes back exactly; what one of the databases cannot hold is refused on both."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is not None:
            _refuse_unstorable(value)
        return value


class Remark(TypeDecorator[str]):
    """Text for people (messages, folder names): what cannot be stored is written as an escape."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return escaped(value)


class Moment(TypeDecorator[datetime]):
    """An aware time in UTC; on SQLite a text of fixed width, so that it also sorts."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(DateTime(timezone=True) if _is_postgres(dialect) else Text())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise InvalidInput(f"The time {value.isoformat()} has no time zone.", advice="Add one.")
        moment = value.astimezone(UTC)
        return moment if _is_postgres(dialect) else moment.isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except (TypeError, ValueError) as error:
            raise UnreadableValue("a stored time") from error


class Now(FunctionElement[datetime]):
    """The server's time as the default of a `Moment`, in the form that one stores."""

    inherit_cache = True


@compiles(Now)
def _now(element: Now, compiler: Any, **options: Any) -> str:
    return "now()"


@compiles(Now, "sqlite")
def _now_as_text(element: Now, compiler: Any, **options: Any) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'))"


class Json(TypeDecorator[Any]):
    """A JSON value: JSONB on PostgreSQL, text on SQLite; None is NULL."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if not _is_postgres(dialect):
            return dialect.type_descriptor(Text())
        from sqlalchemy.dialects.postgresql import JSONB  # costs 30 ms that SQLite need not pay

        return dialect.type_descriptor(JSONB(none_as_null=True))

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        for text in _texts_in(value):
            _refuse_unstorable(text)
        if value is None or _is_postgres(dialect):
            return value
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        if value is None or _is_postgres(dialect):
            return value
        try:
            return json.loads(value)
        except (TypeError, ValueError) as error:
            raise UnreadableValue("a stored JSON value") from error


def escaped(text: str) -> str:
    """The text with what cannot be stored written as an escape."""
    return _UNSTORABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _is_postgres(dialect: Dialect) -> bool:
    return dialect.name == "postgresql"


def _refuse_unstorable(text: str) -> None:
    found = _UNSTORABLE.search(text)
    if found is not None:
        raise InvalidInput(
            f"Text holds the character U+{ord(found[0]):04X}, which cannot be stored.",
            advice="Remove it from the lesson, its file name or the book's settings.",
        )


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *_texts_in(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts_in(item)
