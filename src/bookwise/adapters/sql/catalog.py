"""Books and live lessons in SQL."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from sqlalchemy import Connection, Text, and_, bindparam, cast, delete, func, insert, or_, select, update

from bookwise.adapters.sql.book_rows import book_from, book_row
from bookwise.adapters.sql.database import Database, Insertion
from bookwise.adapters.sql.rows import lesson_from, lesson_row
from bookwise.adapters.sql.tables import books, facts, lessons
from bookwise.domain.books import Book
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.jobs import IngestionMode, LessonRecord
from bookwise.domain.search import Live

_LAST_INGESTED = {
    "full": "last_full_ingest",
    "recreate": "last_full_ingest",
    "incremental": "last_incremental_update",
}

# A book that is removed and registered again continues counting from here, so that a generation number never stands
# for two different sets of lessons.
_HIGHEST_REMOVED = "highest removed generation"

_WITHOUT_HASHES = tuple(column for column in lessons.c if column.name != "text_hashes")

_DELETE_REPLACED = delete(lessons).where(
    lessons.c.book_id == bindparam("of_book"),
    lessons.c.index_id == bindparam("of_index"),
    or_(lessons.c.source_file == bindparam("same_file"), lessons.c.lesson_id == bindparam("same_id")),
)
_DELETE_WITHDRAWN = delete(lessons).where(
    lessons.c.book_id == bindparam("of_book"),
    lessons.c.index_id == bindparam("of_index"),
    lessons.c.source_file == bindparam("same_file"),
)


class SqlCatalog:
    """The catalog of the data in one index.

    `exclusive` means that no other process writes to this database, so results can be cached without a check.
    """

    def __init__(self, database: Database, *, index_id: str, exclusive: bool) -> None:
        self._database = database
        self._index_id = index_id
        self._exclusive = exclusive
        self._live: dict[str, Live] = {}
        self._books: dict[str, Book] = {}
        self._changes = 0

    async def register(self, book: Book) -> None:
        with self._change(book.id):
            await self._database.write(register_book, book, self._database.insert_into(books), self._index_id)

    async def books(self) -> list[Book]:
        rows = await self._database.read(lambda connection: connection.execute(select(books)).all())
        return sorted(map(book_from, rows), key=lambda book: book.id)

    async def book(self, book_id: str) -> Book:
        cached = self._books.get(book_id) if self._exclusive else None
        if cached is not None:
            return cached
        changes = self._changes
        book = await self._database.read(_read_book, book_id)
        if self._exclusive and changes == self._changes:
            self._books[book_id] = book
        return book

    async def require_own_folder(self, book_id: str) -> None:
        """Does nothing: the database has one data folder, or none."""

    async def remove_book(self, book_id: str) -> None:
        with self._change(book_id):
            await self._database.write(self._remove, book_id)

    async def live(self, book_id: str) -> Live:
        cached = self._live.get(book_id)
        if cached is not None and await self._is_current(book_id, cached):
            return cached
        changes = self._changes
        live = await self._database.read(self._snapshot, book_id)
        # A change committed during the read may or may not be in this snapshot: do not cache it.
        if live.generation and changes == self._changes:
            self._live[book_id] = live
        return live

    async def live_chunks(self, book_id: str) -> dict[str, int]:
        columns = (lessons.c.revision, lessons.c.chunk_count)
        query = select(*columns).where(lessons.c.book_id == book_id, lessons.c.index_id == self._index_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return {row.revision: row.chunk_count for row in rows}

    async def books_with_chunk(self, chunk_id: str) -> list[str]:
        has_chunk = cast(lessons.c.chunk_ids, Text).contains(json.dumps(chunk_id), autoescape=True)
        query = select(lessons.c.book_id).where(lessons.c.index_id == self._index_id, has_chunk).distinct()
        return sorted(await self._database.read(lambda connection: connection.execute(query).scalars().all()))

    async def records(self, book_id: str) -> list[LessonRecord]:
        query = select(*_WITHOUT_HASHES).where(lessons.c.book_id == book_id, lessons.c.index_id == self._index_id)
        rows = await self._database.read(lambda connection: connection.execute(query).all())
        return sorted(map(lesson_from, rows), key=lambda record: record.source_file)

    async def activate(self, records: Sequence[LessonRecord]) -> None:
        if not records:
            return
        _check_unique(records)
        with self._change(*{record.book_id for record in records}):
            await self._database.write(activate_lessons, records, self._index_id)

    async def withdraw(self, book_id: str, source_files: Sequence[str]) -> None:
        if not source_files:
            return
        with self._change(book_id):
            await self._database.write(withdraw_lessons, book_id, source_files, self._index_id)

    async def mark_ingested(self, book_id: str, mode: IngestionMode, at: datetime) -> None:
        if not await self._database.write(store_ingest_time, book_id, mode, at):
            raise _book_not_found(book_id)

    async def last_ingested(self, book_id: str) -> tuple[datetime | None, datetime | None]:
        query = select(books.c.last_full_ingest, books.c.last_incremental_update).where(books.c.id == book_id)
        row = await self._database.read(lambda connection: connection.execute(query).first())
        return (None, None) if row is None else (row.last_full_ingest, row.last_incremental_update)

    @contextmanager
    def _change(self, *book_ids: str) -> Iterator[None]:
        """Clears the cache of these books, even if the outcome of the change is unknown."""
        try:
            yield
        finally:
            self._changes += 1
            for book_id in book_ids:
                self._live.pop(book_id, None)
                self._books.pop(book_id, None)

    async def _is_current(self, book_id: str, cached: Live) -> bool:
        if self._exclusive:
            return True
        query = select(books.c.generation).where(books.c.id == book_id)
        generation = await self._database.read(lambda connection: connection.execute(query).scalar())
        return generation == cached.generation

    def _snapshot(self, connection: Connection, book_id: str) -> Live:
        in_this_index = and_(lessons.c.book_id == books.c.id, lessons.c.index_id == self._index_id)
        query = select(books.c.generation, lessons.c.revision).outerjoin_from(books, lessons, in_this_index)
        rows = connection.execute(query.where(books.c.id == book_id)).all()
        return Live(
            revisions=frozenset(row.revision for row in rows if row.revision is not None),
            generation=rows[0].generation if rows else 0,
        )

    def _remove(self, connection: Connection, book_id: str) -> None:
        deletion = delete(books).where(books.c.id == book_id).returning(books.c.generation)
        generation = connection.execute(deletion).scalar()
        if generation is None:
            return
        insertion = self._database.insert_into(facts).values(key=_HIGHEST_REMOVED, value=generation)
        connection.execute(
            insertion.on_conflict_do_update(
                index_elements=["key"],
                set_={"value": generation},
                where=facts.c.value < generation,
            )
        )


def register_book(connection: Connection, book: Book, insertion: Insertion, index_id: str) -> None:
    """Creates or updates the book, and forgets its lessons in other indexes."""
    highest = select(facts.c.value).where(facts.c.key == _HIGHEST_REMOVED).scalar_subquery()
    row = book_row(book)
    statement = insertion.values(**row, generation=func.coalesce(highest, 0) + 1, created_at=datetime.now(UTC))
    changes = {**row, "generation": books.c.generation + 1}
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=changes))
    in_other_index = and_(lessons.c.book_id == book.id, lessons.c.index_id != index_id)
    connection.execute(delete(lessons).where(in_other_index))


def activate_lessons(connection: Connection, records: Sequence[LessonRecord], index_id: str) -> None:
    """Makes these lessons live instead of those with the same source file or lesson id."""
    for book_id in sorted({record.book_id for record in records}):  # sorted, to avoid deadlocks
        if not _increment_generation(connection, book_id):
            raise _book_not_found(book_id)
    keys = [
        {
            "of_book": record.book_id,
            "of_index": index_id,
            "same_file": record.source_file,
            "same_id": record.lesson_id,
        }
        for record in records
    ]
    connection.execute(_DELETE_REPLACED, keys)
    connection.execute(insert(lessons), [lesson_row(record, index_id=index_id) for record in records])


def withdraw_lessons(connection: Connection, book_id: str, source_files: Sequence[str], index_id: str) -> None:
    """Removes these lessons from the live ones."""
    if _increment_generation(connection, book_id):
        keys = [{"of_book": book_id, "of_index": index_id, "same_file": file} for file in source_files]
        connection.execute(_DELETE_WITHDRAWN, keys)


def store_ingest_time(connection: Connection, book_id: str, mode: IngestionMode, at: datetime) -> bool:
    """Stores when the book was last ingested in this mode. False if there is no such book."""
    statement = update(books).where(books.c.id == book_id).values({_LAST_INGESTED[mode]: at})
    return connection.execute(statement).rowcount > 0


def _increment_generation(connection: Connection, book_id: str) -> bool:
    """Counts the change and locks the book until the end of the transaction. False if there is no such book."""
    increment = update(books).where(books.c.id == book_id).values(generation=books.c.generation + 1)
    return connection.execute(increment).rowcount > 0


def _read_book(connection: Connection, book_id: str) -> Book:
    row = connection.execute(select(books).where(books.c.id == book_id)).first()
    if row is None:
        raise _book_not_found(book_id)
    return book_from(row)


def _book_not_found(book_id: str) -> NotFound:
    return NotFound(
        f"There is no book {book_id!r}.", advice="Ingest the book first, or use an id from `bookwise books`."
    )


def _check_unique(records: Sequence[LessonRecord]) -> None:
    for field in ("source_file", "lesson_id"):
        seen: set[tuple[str, str]] = set()
        for record in records:
            key = (record.book_id, getattr(record, field))
            if key in seen:
                raise InvalidInput(
                    f"Two lessons of book {key[0]!r} have the same {field}: {key[1]!r}.",
                    advice="Rename or remove one of the two lessons.",
                )
            seen.add(key)
