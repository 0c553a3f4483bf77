"""The log of questions and answers in SQL."""

from collections.abc import Callable, Sequence
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
from bookwise.domain.journal import AskedQuestion, Mark, QuotedLesson, Thumb, question_not_found

_MAX_LIMIT = 2**31 - 1


def _now() -> datetime:
    return datetime.now(UTC)


class SqlJournal:
    """One row per answer. Deleting a thread deletes its rows."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def note(self, question: AskedQuestion) -> None:
        row = _question_row(question)
        try:
            await self._database.write(lambda connection: connection.execute(insert(asked_questions).values(row)))
        except IntegrityError:
            if not await self._database.read(_exists, question.answer_id):
                return  # the thread was deleted in the meantime
            raise Conflict(
                f"The answer {question.answer_id} is already logged.", advice="Use a new id for every answer."
            ) from None

    async def rate(self, answer_id: str, thumb: Thumb, comment: str = "", *, owner: str) -> AskedQuestion:
        normal_id = _normalize_id(answer_id)
        if normal_id is None:
            raise _answer_not_found()
        rating = {"thumb": thumb, "comment": comment, "rated_at": self._clock()}
        return await self._database.write(_rate, normal_id, owner, rating)

    async def mark(self, book_id: str, answer_ids: Sequence[str], mark: Mark | None) -> int:
        ids = [answer_id for answer_id in map(_normalize_id, answer_ids) if answer_id]
        statement = update(asked_questions).where(
            asked_questions.c.book_id == book_id, asked_questions.c.answer_id.in_(ids)
        )
        values = {"mark": mark, "marked_at": None if mark is None else self._clock()}
        return await self._database.write(lambda connection: connection.execute(statement.values(values)).rowcount)

    async def question(self, answer_id: str) -> AskedQuestion:
        query = select(asked_questions).where(asked_questions.c.answer_id == _normalize_id(answer_id))
        row = await self._database.read(lambda connection: connection.execute(query).first())
        if row is None:
            raise question_not_found()
        return question_from(row)

    async def questions(self, book_id: str, *, since: datetime, limit: int = 10_000) -> list[AskedQuestion]:
        if limit < 1:
            raise InvalidInput(f"limit is {limit}; it must be 1 or more.", advice="Use a larger limit.")
        query = select(asked_questions).where(asked_questions.c.book_id == book_id, asked_questions.c.asked_at >= since)
        query = query.order_by(asked_questions.c.asked_at.desc(), asked_questions.c.answer_id)
        query = query.limit(min(limit, _MAX_LIMIT))
        return await self._database.read(lambda connection: list(map(question_from, connection.execute(query))))

    async def forget(self, *, before: datetime) -> int:
        is_old = asked_questions.c.asked_at < before
        query = select(asked_questions.c.book_id).where(is_old).limit(1)
        if await self._database.read(lambda connection: connection.execute(query).first()) is None:
            return 0  # the usual case: blocks no writer
        return await self._database.write(
            lambda connection: connection.execute(delete(asked_questions).where(is_old)).rowcount
        )


def _exists(connection: Connection, answer_id: str) -> bool:
    query = select(asked_questions.c.answer_id).where(asked_questions.c.answer_id == answer_id)
    return connection.execute(query).first() is not None


def _rate(connection: Connection, answer_id: str, owner: str, rating: dict[str, Any]) -> AskedQuestion:
    conditions = (asked_questions.c.answer_id == answer_id, asked_questions.c.owner == owner)
    row = connection.execute(
        update(asked_questions).where(*conditions).values(rating).returning(asked_questions)
    ).first()
    if row is None:
        raise _answer_not_found()
    return question_from(row)


def _answer_not_found() -> NotFound:
    """The same error for an unknown id, an id of another owner and an invalid id."""
    return NotFound(
        "There is no answer with this id among your answers.", advice="Use the answer_id of an answer you received."
    )


def _normalize_id(answer_id: str) -> str | None:
    """The id in lower case; None unless it is a UUID of version 4."""
    try:
        uuid = UUID(answer_id)
    except ValueError:
        return None
    return str(uuid) if uuid.version == 4 and str(uuid) == answer_id.lower() else None


def _question_row(question: AskedQuestion) -> dict[str, Any]:
    if _normalize_id(question.answer_id) != question.answer_id:
        raise InvalidInput("The id of an answer must be a UUID of version 4.", advice="Use a new random UUID.")
    lessons = [{"lesson_id": lesson.lesson_id, "title": lesson.title, "url": lesson.url} for lesson in question.lessons]
    return {
        "answer_id": question.answer_id,
        "book_id": question.book_id,
        "owner": question.owner,
        "thread_id": question.thread_id,
        "asked_at": question.asked_at,
        "question": question.question,
        "outcome": question.outcome,
        "reason": question.reason,
        "level": question.level,
        "lessons": plain_json("The lessons of an answer", lessons),
        "thumb": question.thumb,
        "comment": question.comment,
        "rated_at": question.rated_at,
        "mark": question.mark,
        "marked_at": question.marked_at,
        "searched": question.searched,
    }


def question_from(row: Row[Any]) -> AskedQuestion:
    try:
        lessons = tuple(QuotedLesson(**lesson) for lesson in row.lessons)
    except TypeError as error:
        raise UnreadableValue("the lessons of an answer") from error
    return AskedQuestion(**{**row._mapping, "lessons": lessons})
