"""Threads and questions of all readers, one after the other, for an export."""

from collections.abc import AsyncIterator
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, select, true

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.journal import question_from
from bookwise.adapters.sql.tables import asked_questions, threads
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.journal import AskedQuestion
from bookwise.domain.threads import Thread, ThreadMessage

PAGE_ROWS = 500
ALL_MESSAGES = 2**31 - 1


async def export_questions(database: Database, book_id: str | None) -> AsyncIterator[AskedQuestion]:
    """The questions of a book, or of all books. Those that are asked meanwhile may be missing."""
    async for row in _rows(database, asked_questions, book_id):
        yield question_from(row)


async def export_threads(database: Database, book_id: str | None) -> AsyncIterator[tuple[Thread, list[ThreadMessage]]]:
    """The threads of a book, or of all books, each with all its messages."""
    store = SqlThreads(database)
    async for row in _rows(database, threads, book_id):
        thread = await store.thread(row.thread_id, owner=row.owner)
        yield thread, await store.history(row.thread_id, owner=row.owner, limit=ALL_MESSAGES)


async def _rows(database: Database, table: Table, book_id: str | None) -> AsyncIterator[Any]:
    """The rows in the order of their keys, page by page, so that no page is held while it is written out."""
    (key,) = table.primary_key.columns
    of_book = true() if book_id is None else table.c.book_id == book_id
    last: ColumnElement[bool] = true()
    while page := await database.read(_fetch, select(table).where(of_book, last).order_by(key).limit(PAGE_ROWS)):
        for row in page:
            yield row
        last = key > page[-1]._mapping[key]


def _fetch(connection: Connection, query: Select[Any]) -> list[Any]:
    return list(connection.execute(query))
