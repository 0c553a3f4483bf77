"""Copies the rows of one database to another, SQLite or PostgreSQL, and compares them.

The source is only read. A fact in the target marks a copy in progress: it may be interrupted at any time and run again,
and then writes only the rows that are missing or differ. The catalog and the keys are written last, in one transaction,
so an unfinished copy shows no book.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    true,
    tuple_,
)

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.fact_names import KEY_CHANGES, QUEUE_SCRIPTS
from bookwise.adapters.sql.tables import (
    api_keys,
    archived_messages,
    asked_questions,
    books,
    facts,
    lessons,
    metadata,
    threads,
    validation_runs,
)
from bookwise.domain.errors import Conflict, CopyMismatch

PAGE_ROWS = 500

Row: TypeAlias = Mapping[str, Any]
Key: TypeAlias = tuple[Any, ...]
OnRows: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDigest:
    """A table whose rows are the same in both databases."""

    name: str
    rows: int
    digest: str  #: SHA-256 of all rows, in the order of the source


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyScope:
    """Everything, or one book with its lessons, threads, questions and validation runs.

    The other tables belong to no single book, or have numbers that could be in use in the target.
    """

    book_id: str | None = None

    @property
    def tables(self) -> list[Table]:
        """The tables in the order in which their rows can be written."""
        if self.book_id is None:
            return list(metadata.sorted_tables)
        return [table for table in metadata.sorted_tables if table in self._conditions]

    @property
    def last_tables(self) -> list[Table]:
        """The tables that make a copy usable, and those that refer to them."""
        last = {facts, api_keys, books}
        for table in self.tables:
            if any(key.column.table in last for key in table.foreign_keys):
                last.add(table)
        return [table for table in self.tables if table in last]

    def rows_of(self, table: Table) -> ColumnElement[bool]:
        """The condition for the rows that belong to the scope."""
        if self.book_id is not None:
            return self._conditions[table]
        return facts.c.key.not_like(f"{_MARK}%") & facts.c.key.not_in(_LOCAL_FACTS) if table is facts else true()

    @property
    def _conditions(self) -> dict[Table, ColumnElement[bool]]:
        of_book = select(threads.c.thread_id).where(threads.c.book_id == self.book_id)
        return {
            books: books.c.id == self.book_id,
            lessons: lessons.c.book_id == self.book_id,
            threads: threads.c.book_id == self.book_id,
            archived_messages: archived_messages.c.thread_id.in_(of_book),
            asked_questions: asked_questions.c.book_id == self.book_id,
            validation_runs: validation_runs.c.book_id == self.book_id,
        }


_MARK = "copy in progress"
_LOCAL_FACTS = (KEY_CHANGES, QUEUE_SCRIPTS)  # a database maintains them itself


async def count_rows(database: Database, scope: CopyScope) -> int:
    """The number of rows of the scope."""
    return sum([await _count(database, table, scope) for table in scope.tables])


async def copy_tables(source: Database, target: Database, scope: CopyScope, report: OnRows) -> dict[str, int]:
    """Writes the rows of the scope that the target does not hold; returns the number of written rows by table.

    Raises `Conflict` when the target holds other rows of the scope.
    """
    if not await _begin(source, target, scope):
        return {}
    last, written = scope.last_tables, {}
    for table in scope.tables:
        if table not in last:
            written[table.name] = await _copy_table(table, source, target, scope, report)
    rows = {table: [row async for page in _pages(source, table, scope) for row in page] for table in last}
    await target.write(_write_last, scope, rows)  # the commit point
    written |= {table.name: len(rows[table]) for table in last}
    report(sum(map(len, rows.values())))
    return written


async def compare_tables(source: Database, target: Database, scope: CopyScope, report: OnRows) -> list[TableDigest]:
    """Reads all rows of the scope in both databases. Raises `CopyMismatch` at the first difference."""
    return [await _compare_table(table, source, target, scope, report) for table in scope.tables]


async def _begin(source: Database, target: Database, scope: CopyScope) -> bool:
    """Whether there is something to write: False when the target already holds the same rows."""
    mark, origin = _mark(scope), _number(source.address.name)
    query = select(facts.c.value).where(facts.c.key == mark)
    marked = await target.read(lambda connection: connection.execute(query).scalar())
    if marked is not None and marked != origin:
        raise Conflict(
            f"{target.address.name} holds an unfinished copy of another database.",
            advice="Finish that copy first, or use an empty database.",
        )
    if marked is None and await count_rows(target, scope):
        if await _is_copy(source, target, scope):
            return False
        raise Conflict(
            f"{target.address.name} is not empty, and its data differs from {source.address.name}.",
            advice="Check that the target is the right one. Use an empty database.",
        )
    row = {"key": mark, "value": origin}
    statement = target.insert_into(facts).values(row).on_conflict_do_nothing()
    await target.write(lambda connection: connection.execute(statement))
    return True


async def _is_copy(source: Database, target: Database, scope: CopyScope) -> bool:
    try:
        await compare_tables(source, target, scope, lambda count: None)
    except CopyMismatch:
        return False
    return True


async def _copy_table(table: Table, source: Database, target: Database, scope: CopyScope, report: OnRows) -> int:
    """Writes the rows that the target does not hold, and removes those that the source no longer has."""
    if await _count(target, table, scope):
        async for page in _pages(target, table, scope):
            keys = {_key(table, row) for row in page}
            await target.write(_delete, table, keys - (await _rows_by_key(source, table, keys)).keys())
    written = 0
    async for page in _pages(source, table, scope):
        existing = await _rows_by_key(target, table, {_key(table, row) for row in page})
        rows = [row for row in page if existing.get(_key(table, row)) != row]
        if rows:
            await target.write(_upsert, target, table, rows)
        written += len(rows)
        report(len(page))
    return written


def _upsert(connection: Connection, target: Database, table: Table, rows: Sequence[Row]) -> None:
    statement = target.insert_into(table)
    values = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
    names = [column.name for column in table.primary_key.columns]
    connection.execute(statement.on_conflict_do_update(index_elements=names, set_=values), list(rows))


def _delete(connection: Connection, table: Table, keys: set[Key]) -> None:
    if keys:
        connection.execute(delete(table).where(_has_key(table, keys)))


def _write_last(connection: Connection, scope: CopyScope, last: Mapping[Table, Sequence[Row]]) -> None:
    """Writes the catalog and the keys, continues the numbering of the source, and removes the mark."""
    for table in reversed(list(last)):
        connection.execute(delete(table).where(scope.rows_of(table)))
    for table, rows in last.items():
        for start in range(0, len(rows), PAGE_ROWS):
            connection.execute(insert(table), list(rows[start : start + PAGE_ROWS]))
    if connection.dialect.name == "postgresql":
        for table in scope.tables:
            _continue_numbering(connection, table)
    connection.execute(delete(facts).where(facts.c.key == _mark(scope)))


def _continue_numbering(connection: Connection, table: Table) -> None:
    """PostgreSQL does not count rows that are written with their number; SQLite does."""
    column = table.autoincrement_column
    if column is not None and isinstance(column.type, Integer | BigInteger):
        highest = connection.execute(select(func.max(column))).scalar()
        if highest is not None:
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(select(func.setval(sequence, highest)))


async def _compare_table(
    table: Table, source: Database, target: Database, scope: CopyScope, report: OnRows
) -> TableDigest:
    count, digest = 0, hashlib.sha256()
    async for page in _pages(source, table, scope):
        copied = await _rows_by_key(target, table, {_key(table, row) for row in page})
        for row in page:
            if copied.get(_key(table, row)) != row:
                raise _mismatch(table, source, target)
            digest.update(_line(row))
        count += len(page)
        report(len(page))
    if await _count(target, table, scope) != count:
        raise _mismatch(table, source, target)
    return TableDigest(name=table.name, rows=count, digest=digest.hexdigest())


def _mismatch(table: Table, source: Database, target: Database) -> CopyMismatch:
    return CopyMismatch(
        f"The table {table.name} of {target.address.name} differs from {source.address.name}.",
        advice="Stop all services that use one of the two databases, and run the command again with an empty target.",
    )


async def _count(database: Database, table: Table, scope: CopyScope) -> int:
    query = select(func.count()).select_from(table).where(scope.rows_of(table))
    count = await database.read(lambda connection: connection.execute(query).scalar())
    return int(count or 0)


async def _pages(database: Database, table: Table, scope: CopyScope) -> Any:
    """The rows of the scope in the order of their keys, page by page."""
    last: Key | None = None
    while True:
        query = _page_query(table, scope, last)
        page = await database.read(_fetch, query)
        if page:
            yield page
        if len(page) < PAGE_ROWS:
            return
        last = _key(table, page[-1])


def _page_query(table: Table, scope: CopyScope, last: Key | None) -> Select[Any]:
    columns = list(table.primary_key.columns)
    condition = scope.rows_of(table)
    if last is not None:
        condition = and_(condition, tuple_(*columns) > _values(columns, last))
    return select(table).where(condition).order_by(*columns).limit(PAGE_ROWS)


async def _rows_by_key(database: Database, table: Table, keys: Iterable[Key]) -> dict[Key, Row]:
    query = select(table).where(_has_key(table, keys))
    rows = await database.read(_fetch, query)
    return {_key(table, row): row for row in rows}


def _fetch(connection: Connection, query: Select[Any]) -> list[Row]:
    return [dict(row) for row in connection.execute(query).mappings()]


def _has_key(table: Table, keys: Iterable[Key]) -> ColumnElement[bool]:
    columns = list(table.primary_key.columns)
    if len(columns) == 1:
        return columns[0].in_([key[0] for key in keys])
    return tuple_(*columns).in_(list(keys))


def _values(columns: Sequence[Column[Any]], key: Key) -> ColumnElement[Any]:
    return tuple_(*(bindparam(None, value, type_=column.type) for column, value in zip(columns, key, strict=True)))


def _key(table: Table, row: Row) -> Key:
    return tuple(row[column.name] for column in table.primary_key.columns)


def _mark(scope: CopyScope) -> str:
    return _MARK if scope.book_id is None else f"{_MARK}: {scope.book_id}"


def _number(name: str) -> int:
    """A number that stands for a database, for a column of numbers."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:7])


def _line(row: Row) -> bytes:
    """The row as text that is the same for both databases."""
    return json.dumps([_plain(value) for value in row.values()], sort_keys=True).encode() + b"\n"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    return _whole_numbers(value)


def _whole_numbers(value: Any) -> Any:
    """PostgreSQL returns 1.0 in a JSON value as 1 or 1.0, depending on how it was written."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_numbers(item) for item in value]
    return value
