"""Column types whose values are the same on SQLite and PostgreSQL."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, FunctionElement, Text, Uuid
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import TypeDecorator, TypeEngine

from bookwise.domain.errors import InvalidInput

# PostgreSQL cannot store NUL, and neither database can store half of a surrogate pair.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class UnreadableValue(ValueError):
    """A stored value is invalid. `database_errors` turns this into `DamagedData`."""


class ExactText(TypeDecorator[str]):
    """Text that is read back exactly. Characters that one database cannot store are rejected on both."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        if value is not None:
            _check_storable(value)
        return value


class EscapedText(TypeDecorator[str]):
    """Text for people (messages, folder names). Characters that cannot be stored are written as an escape."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else escape_text(value)


class UuidText(TypeDecorator[str]):
    """A UUID as text."""

    impl = Uuid(as_uuid=False)
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        process = super().result_processor(dialect, coltype)

        def read(value: Any) -> Any:
            try:
                return process(value) if process else value
            except ValueError as error:
                raise UnreadableValue("a stored id") from error

        return read


class UtcDateTime(TypeDecorator[datetime]):
    """A time-zone-aware time in UTC. On SQLite it is text of fixed width, so that it sorts correctly."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(DateTime(timezone=True) if _is_postgres(dialect) else Text())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.tzinfo is None:
            raise InvalidInput(f"The time {value.isoformat()} has no time zone.", advice="Add a time zone.")
        utc = value.astimezone(UTC)
        return utc if _is_postgres(dialect) else utc.isoformat(timespec="microseconds")

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        try:
            return datetime.fromisoformat(value).astimezone(UTC)
        except (TypeError, ValueError) as error:
            raise UnreadableValue("a stored time") from error


class UtcNow(FunctionElement[datetime]):
    """The current time of the server, as the default of a `UtcDateTime` column."""

    inherit_cache = True


@compiles(UtcNow)
def _compile_now(element: UtcNow, compiler: Any, **options: Any) -> str:
    return "now()"


@compiles(UtcNow, "sqlite")
def _compile_now_sqlite(element: UtcNow, compiler: Any, **options: Any) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'))"


class JsonColumn(TypeDecorator[Any]):
    """A JSON value: JSONB on PostgreSQL, text on SQLite; None is NULL."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if not _is_postgres(dialect):
            return dialect.type_descriptor(Text())
        from sqlalchemy.dialects.postgresql import JSONB  # loads the PostgreSQL dialect: 30 ms

        return dialect.type_descriptor(JSONB(none_as_null=True))

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:
        for text in _strings(value):
            _check_storable(text)
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


def escape_text(text: str) -> str:
    """The text with unstorable characters written as escapes."""
    return _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _is_postgres(dialect: Dialect) -> bool:
    return dialect.name == "postgresql"


def _check_storable(text: str) -> None:
    match = _UNSTORABLE.search(text)
    if match is not None:
        raise InvalidInput(
            f"The text contains the character U+{ord(match[0]):04X}, which cannot be stored.",
            advice="Remove it from the lesson, its file name or the settings of the book.",
        )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from (key, *_strings(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _strings(item)
