"""Turns what readers asked into durable notes, found again by book and by answer."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from bookwise.adapters.sql.column_types import UnreadableValue
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.rows import plain_json
from bookwise.adapters.sql.tables import asked_questions
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.domain.journal import AskedQuestion, QuotedLesson, Thumb

_LARGEST_LIMIT = 2**31 - 1


def _now() -> datetime:
    return datetime.now(UTC)


class SqlJournal:
    """One row for each answer. A thread that is deleted takes its rows with it."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def note(self, asked: AskedQuestion) -> None:
        row = _row(asked)
        try:
            await self._database.write(lambda connection: connection.execute(insert(asked_questions).values(row)))
        except IntegrityError:
            if not await self._database.read(_is_noted, asked.answer_id):
                return  # its thread was deleted meanwhile
            raise Conflict(
                f"The answer {asked.answer_id} is noted already.", advice="Give every answer a new id."
            ) from None

    async def rate(self, answer_id: str, thumb: Thumb, comment: str = "", *, owner: str) -> AskedQuestion:
        known = _usual_spelling(answer_id)
        if known is None:
            raise _absent()
        rating = {"thumb": thumb, "comment": comment, "rated_at": self._clock()}
        return await self._database.write(_rate, known, owner, rating)

    async def asked(self, book_id: str, *, since: datetime, limit: int = 10_000) -> list[AskedQuestion]:
        if limit < 1:
            raise InvalidInput(f"limit is {limit}; it must be 1 or more.")
        wanted = select(asked_questions).where(
            asked_questions.c.book_id == book_id, asked_questions.c.asked_at >= since
        )
        newest = wanted.order_by(asked_questions.c.asked_at.desc(), asked_questions.c.answer_id)
        newest = newest.limit(min(limit, _LARGEST_LIMIT))
        return await self._database.read(lambda connection: list(map(_asked_from, connection.execute(newest))))

    async def forget(self, *, before: datetime) -> int:
        older = asked_questions.c.asked_at < before
        query = select(asked_questions.c.book_id).where(older).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            return 0  # the usual case, and it holds up no writer
        return await self._database.write(
            lambda connection: connection.execute(delete(asked_questions).where(older)).rowcount
        )


def _is_noted(connection: Connection, answer_id: str) -> bool:
    query = select(asked_questions.c.answer_id).where(asked_questions.c.answer_id == answer_id)
    return connection.execute(query).first() is not None


def _rate(connection: Connection, answer_id: str, owner: str, rating: dict[str, Any]) -> AskedQuestion:
    theirs = (asked_questions.c.answer_id == answer_id, asked_questions.c.owner == owner)
    row = connection.execute(update(asked_questions).where(*theirs).values(rating).returning(asked_questions)).first()
    if row is None:
        raise _absent()
    return _asked_from(row)


def _absent() -> NotFound:
    """One wording for an id that never was, one of somebody else and one that is none."""
    return NotFound("You got no such answer.", advice="Take the answer_id from an answer to your own question.")


def _usual_spelling(answer_id: str) -> str | None:
    """The id in small letters; None unless it is a UUID of version 4."""
    try:
        found = UUID(answer_id)
    except ValueError:
        return None
    return str(found) if found.version == 4 and str(found) == answer_id.lower() else None


def _row(asked: AskedQuestion) -> dict[str, Any]:
    if _usual_spelling(asked.answer_id) != asked.answer_id:
        raise InvalidInput("The id of an answer must be a UUID of version 4.")
    lessons = [{"lesson_id": quoted.lesson_id, "title": quoted.title, "url": quoted.url} for quoted in asked.lessons]
    return {
        "answer_id": asked.answer_id,
        "book_id": asked.book_id,
        "owner": asked.owner,
        "thread_id": asked.thread_id,
        "asked_at": asked.asked_at,
        "question": asked.question,
        "outcome": asked.outcome,
        "reason": asked.reason,
        "level": asked.level,
        "lessons": plain_json("The lessons of an answer", lessons),
        "thumb": asked.thumb,
        "comment": asked.comment,
        "rated_at": asked.rated_at,
    }


def _asked_from(row: Row[Any]) -> AskedQuestion:
    try:
        lessons = tuple(QuotedLesson(**quoted) for quoted in row.lessons)
    except TypeError as error:
        raise UnreadableValue("the lessons of an answer") from error
    return AskedQuestion(**{**row._mapping, "lessons": lessons})
