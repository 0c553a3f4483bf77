"""Turns questions and answers into durable threads: the newest messages live, older ones archived, none lost."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Delete, Row, Select, Update, and_, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from bookwise.adapters.sql.column_types import escaped
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.rows import StoredMessage, message_from, message_row, plain_json, thread_from
from bookwise.adapters.sql.tables import archived_messages, threads
from bookwise.domain.errors import Conflict, InvalidInput, NotFound, ThreadBusy
from bookwise.domain.threads import LIVE_MESSAGES_MAX, SUMMARY_MAX, Thread, ThreadMessage, checked_thread_id

_LARGEST_LIMIT = 2**31 - 1
_LONGEST_SECONDS = 10**9
_BATCH = 50  # threads moved in one transaction: others may write in between

_WHOLE_WORDS = re.compile(rf"(?s).{{1,{SUMMARY_MAX}}}(?!\S)")
_WITHOUT_MESSAGES = tuple(column for column in threads.c if column.name != "messages")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _Key:
    """A thread as its owner names it; to anyone else it does not exist."""

    thread_id: str
    owner: str

    @classmethod
    def of(cls, thread_id: str, owner: str) -> "_Key":
        return cls(checked_thread_id(thread_id), owner)

    @property
    def fits(self) -> ColumnElement[bool]:
        return and_(threads.c.thread_id == self.thread_id, threads.c.owner == self.owner)

    def found(self, row: Row[Any] | None) -> Row[Any]:
        if row is None:
            raise self.absent()
        return row

    def absent(self) -> NotFound:
        return NotFound(f"There is no thread {self.thread_id}.", advice="List the threads to see their ids.")


class SqlThreads:
    """Threads with their live messages in one row each, and the archive beside them.

    Messages are numbered from 0 within their thread; the archive holds the first `archived_count` of them and
    the row holds the rest. Every change locks the row first, so changes of one thread follow one another.
    """

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def create(
        self, *, book_id: str, owner: str = "", thread_id: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> Thread:
        new_id = str(uuid4()) if thread_id is None else checked_thread_id(thread_id)
        now = self._clock()
        row = {
            "thread_id": new_id,
            "book_id": book_id,
            "owner": owner,
            "messages": [],
            "metadata": plain_json("The metadata of a thread", dict(metadata or {})),
            "created_at": now,
            "updated_at": now,
        }
        statement = insert(threads).values(row).returning(*_WITHOUT_MESSAGES)
        try:
            return await self._database.write(lambda connection: thread_from(connection.execute(statement).one()))
        except IntegrityError:
            raise Conflict(
                f"The thread id {new_id} is already taken.", advice="Leave it out to begin a new thread."
            ) from None

    async def thread(self, thread_id: str, *, owner: str = "") -> Thread:
        return await self._database.read(_thread, _Key.of(thread_id, owner))

    async def threads(self, *, owner: str = "", book_id: str | None = None, limit: int = 20) -> list[Thread]:
        newest_first = (threads.c.updated_at.desc(), threads.c.created_at.desc(), threads.c.thread_id)
        query = select(*_WITHOUT_MESSAGES).where(threads.c.owner == owner).order_by(*newest_first)
        if book_id is not None:
            query = query.where(threads.c.book_id == book_id)
        query = query.limit(_checked_limit(limit))
        return await self._database.read(lambda connection: list(map(thread_from, connection.execute(query))))

    async def begin(self, thread_id: str, question: str, *, owner: str = "", lease_seconds: float = 120) -> Thread:
        lease = _duration("lease_seconds", lease_seconds)
        return await self._database.write(_begin, _Key.of(thread_id, owner), question, self._clock(), lease)

    async def finish(self, thread_id: str, answer: ThreadMessage, *, owner: str = "") -> Thread:
        if answer.role != "assistant":
            raise InvalidInput(f"An answer must be the assistant's message, not the {answer.role}'s.")
        return await self._database.write(_finish, _Key.of(thread_id, owner), answer, self._clock())

    async def summarise(self, thread_id: str, topic_summary: str, *, owner: str = "") -> None:
        summary = _cut_at_word(escaped(topic_summary).strip())
        statement = update(threads).values(topic_summary=summary)
        await self._database.write(_change_one, _Key.of(thread_id, owner), statement)

    async def history(self, thread_id: str, *, owner: str = "", limit: int = 1000) -> list[ThreadMessage]:
        return await self._database.read(_history, _Key.of(thread_id, owner), _checked_limit(limit))

    async def remove(self, thread_id: str, *, owner: str = "") -> None:
        await self._database.write(_change_one, _Key.of(thread_id, owner), delete(threads))

    async def archive_idle(self, *, idle_seconds: float = 3600) -> int:
        now = self._clock()
        query = _idle(now, _duration("idle_seconds", idle_seconds))
        moved = 0
        while await self._database.read(lambda connection: connection.execute(query.limit(1)).first()) is not None:
            batch = await self._database.write(_archive, query.limit(_BATCH), now)
            if not batch:
                break  # the rest is in use just now
            moved += batch
        return moved


def _begin(connection: Connection, key: _Key, question: str, now: datetime, lease: timedelta) -> Thread:
    row = _locked(connection, key)
    if row.busy_until is not None and row.busy_until > now:
        raise ThreadBusy(
            f"Thread {key.thread_id} is still answering its last question.",
            advice="Wait for the answer, then ask again.",
        )
    live, archived = _brought_back(connection, row)
    turn = _turn(question, at=max([now, row.updated_at, *(message_from(message).timestamp for message in live[-1:])]))
    messages = [*live, *turn]
    oldest, kept = messages[:-LIVE_MESSAGES_MAX], messages[-LIVE_MESSAGES_MAX:]
    _put_away(connection, key.thread_id, archived, oldest)
    connection.execute(
        update(threads)
        .where(key.fits)
        .values(
            messages=kept,
            archived_count=archived + len(oldest),
            archived_at=None,
            busy_until=now + lease,
            updated_at=max(now, row.updated_at),
        )
    )
    return thread_from(row, live)


def _finish(connection: Connection, key: _Key, answer: ThreadMessage, now: datetime) -> Thread:
    row = _locked(connection, key)
    if row.busy_until is None:
        raise NotFound(f"Thread {key.thread_id} waits for no answer.", advice="Ask a question first.")
    live, archived = _brought_back(connection, row)
    question, written = live[-2], message_row(answer)
    written["timestamp"] = max(written["timestamp"], question["timestamp"])  # clocks may differ; order may not
    finished = (
        update(threads)
        .where(key.fits)
        .values(
            messages=[*live[:-1], written],
            archived_count=archived,
            archived_at=None,
            busy_until=None,
            updated_at=max(now, row.updated_at),
        )
        .returning(threads)
    )
    row = connection.execute(finished).one()
    return thread_from(row, row.messages)


def _turn(question: str, *, at: datetime) -> list[StoredMessage]:
    asked = ThreadMessage(role="user", content=question, timestamp=at)
    unanswered = ThreadMessage(role="assistant", content="", timestamp=at, complete=False)
    return [message_row(asked), message_row(unanswered)]


def _archive(connection: Connection, idle: Select[Any], now: datetime) -> int:
    rows = connection.execute(idle.with_for_update(skip_locked=True)).all()
    for row in rows:
        _put_away(connection, row.thread_id, row.archived_count, row.messages)
        cold = {"messages": [], "archived_count": row.archived_count + len(row.messages), "archived_at": now}
        connection.execute(update(threads).where(threads.c.thread_id == row.thread_id).values(cold))
    return len(rows)


def _idle(now: datetime, idle: timedelta) -> Select[Any]:
    free = or_(threads.c.busy_until.is_(None), threads.c.busy_until <= now)
    live = and_(threads.c.archived_at.is_(None), threads.c.updated_at < now - idle)
    return select(threads).where(live, free).order_by(threads.c.updated_at)


def _put_away(connection: Connection, thread_id: str, first: int, messages: Sequence[StoredMessage]) -> None:
    rows = [
        {"thread_id": thread_id, "position": position, "message": message}
        for position, message in enumerate(messages, start=first)
    ]
    if rows:
        connection.execute(insert(archived_messages), rows)


def _brought_back(connection: Connection, row: Row[Any]) -> tuple[list[StoredMessage], int]:
    """The live messages and how many are archived before them, after the newest left cold storage."""
    if row.archived_at is None:
        return row.messages, row.archived_count
    first = max(0, row.archived_count - LIVE_MESSAGES_MAX)
    newest = and_(archived_messages.c.thread_id == row.thread_id, archived_messages.c.position >= first)
    back = connection.execute(delete(archived_messages).where(newest).returning(archived_messages)).all()
    return [message.message for message in sorted(back, key=lambda message: message.position)], first


def _thread(connection: Connection, key: _Key) -> Thread:
    _see_one_moment(connection)
    row = key.found(connection.execute(select(threads).where(key.fits)).first())
    cold = row.archived_at is not None
    return thread_from(row, _newest_archived(connection, row, LIVE_MESSAGES_MAX) if cold else row.messages)


def _history(connection: Connection, key: _Key, limit: int) -> list[ThreadMessage]:
    _see_one_moment(connection)
    row = key.found(connection.execute(select(threads).where(key.fits)).first())
    archived = _newest_archived(connection, row, limit - len(row.messages))
    return [message_from(message) for message in [*archived, *row.messages][-limit:]]


def _newest_archived(connection: Connection, row: Row[Any], limit: int) -> list[StoredMessage]:
    if limit <= 0 or row.archived_count == 0:
        return []
    newest_first = archived_messages.c.position.desc()
    query = select(archived_messages.c.message).where(archived_messages.c.thread_id == row.thread_id)
    return list(connection.execute(query.order_by(newest_first).limit(limit)).scalars())[::-1]


def _see_one_moment(connection: Connection) -> None:
    """Makes all that follows read one state: a message on its way to the archive is seen once."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN")
    else:
        connection.execution_options(isolation_level="REPEATABLE READ")


def _locked(connection: Connection, key: _Key) -> Row[Any]:
    """The thread, held until the end of the transaction."""
    return key.found(connection.execute(select(threads).where(key.fits).with_for_update()).first())


def _change_one(connection: Connection, key: _Key, change: Update | Delete) -> None:
    if not connection.execute(change.where(key.fits)).rowcount:
        raise key.absent()


def _cut_at_word(text: str) -> str:
    if len(text) <= SUMMARY_MAX:
        return text
    whole_words = _WHOLE_WORDS.match(text)
    return whole_words[0].rstrip() if whole_words else text[:SUMMARY_MAX]


def _checked_limit(limit: int) -> int:
    if limit < 1:
        raise InvalidInput(f"limit is {limit}; it must be 1 or more.")
    return min(limit, _LARGEST_LIMIT)


def _duration(name: str, seconds: float) -> timedelta:
    if not 0 <= seconds <= _LONGEST_SECONDS:
        raise InvalidInput(f"{name} is {seconds}; it must be between 0 and {_LONGEST_SECONDS:,}.")
    return timedelta(seconds=seconds)
