"""Threads in SQL: the newest messages in the thread's row, older ones in an archive table."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Row,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from bookwise.adapters.sql.column_types import escape_text
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.rows import StoredMessage, message_from, message_row, plain_json, thread_from
from bookwise.adapters.sql.tables import archived_messages, threads
from bookwise.adapters.sql.thread_leases import LEASE_MAX_SECONDS, ThreadLeases
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.domain.threads import LIVE_MESSAGES_MAX, SUMMARY_MAX, Thread, ThreadMessage, ThreadPage, checked_thread_id

_MAX_LIMIT = 2**31 - 1
_MAX_SECONDS = 10**9
_LEASE_MAX = timedelta(seconds=LEASE_MAX_SECONDS)
_BATCH = 500  # threads moved per transaction, so that other writers can run in between

_WHOLE_WORDS = re.compile(rf"(?s).{{1,{SUMMARY_MAX}}}(?!\S)")
_WITHOUT_MESSAGES = tuple(column for column in threads.c if column.name != "messages")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class _ThreadKey:
    """Thread id and owner. For any other owner the thread does not exist."""

    thread_id: str
    owner: str

    @classmethod
    def of(cls, thread_id: str, owner: str) -> "_ThreadKey":
        return cls(checked_thread_id(thread_id), owner)

    @property
    def condition(self) -> ColumnElement[bool]:
        return and_(threads.c.thread_id == self.thread_id, threads.c.owner == self.owner)

    def require(self, row: Row[Any] | None) -> Row[Any]:
        if row is None:
            raise self.not_found()
        return row

    def not_found(self) -> NotFound:
        return NotFound(f"There is no thread {self.thread_id}.", advice="List the threads to see their ids.")


class SqlThreads:
    """Threads with their live messages in one row each, and an archive of older messages.

    The messages of a thread are numbered from 0. The archive has the first `archived_count` of them, the row has the
    rest. Every change locks the row first, so changes of one thread never overlap.
    """

    def __init__(
        self, database: Database, *, exclusive: bool = False, clock: Callable[[], datetime] | None = None
    ) -> None:
        self._database = database
        self._clock = clock or _now
        self._leases = ThreadLeases(exclusive=exclusive, clock=clock)

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
                f"The thread id {new_id} is already in use.", advice="Omit the id to start a new thread."
            ) from None

    async def thread(self, thread_id: str, *, owner: str = "") -> Thread:
        return await self._database.read(_read_thread, _ThreadKey.of(thread_id, owner))

    async def threads(self, *, owner: str = "", book_id: str | None = None, limit: int = 20) -> list[Thread]:
        newest_first = (threads.c.updated_at.desc(), threads.c.created_at.desc(), threads.c.thread_id)
        query = select(*_WITHOUT_MESSAGES).where(threads.c.owner == owner).order_by(*newest_first)
        if book_id is not None:
            query = query.where(threads.c.book_id == book_id)
        query = query.limit(_validate_limit(limit))
        return await self._database.read(lambda connection: list(map(thread_from, connection.execute(query))))

    async def begin(self, thread_id: str, question: str, *, owner: str = "", lease_seconds: float = 120) -> Thread:
        lease, key = _validate_seconds("lease_seconds", lease_seconds), _ThreadKey.of(thread_id, owner)
        with self._leases.claim((key.thread_id, owner), lease_seconds):
            return await self._database.write(_begin, key, question, self._clock(), lease, self._leases)

    async def finish(
        self, thread_id: str, answer: ThreadMessage, *, owner: str = "", position: int | None = None
    ) -> Thread:
        if answer.role != "assistant":
            raise InvalidInput(
                f"The answer has the role {answer.role!r}, not 'assistant'.",
                advice="Store answers of the assistant only.",
            )
        key, has_lease = _ThreadKey.of(thread_id, owner), True
        try:
            thread = await self._database.write(_finish, key, answer, self._clock(), position)
            has_lease = position in (None, thread.archived_messages + len(thread.messages) - 2)
        finally:
            if has_lease:  # if not, a later question has it
                self._leases.drop((key.thread_id, owner))
        return thread

    async def renew(self) -> None:
        if self._leases.needs_renewal:
            await self._database.write(self._leases.renew)

    async def summarise(self, thread_id: str, topic_summary: str, *, owner: str = "") -> None:
        summary = _truncate(escape_text(topic_summary).strip())
        statement = update(threads).values(topic_summary=summary)
        await self._database.write(_change_one, _ThreadKey.of(thread_id, owner), statement)

    async def history(self, thread_id: str, *, owner: str = "", limit: int = 1000) -> list[ThreadMessage]:
        return await self._database.read(_read_history, _ThreadKey.of(thread_id, owner), _validate_limit(limit))

    async def page(self, thread_id: str, *, owner: str = "", offset: int = 0, limit: int = 50) -> ThreadPage:
        if offset < 0:
            raise InvalidInput(f"offset is {offset}; it must be 0 or more.", advice="Use a larger offset.")
        window = range(min(offset, _MAX_LIMIT), min(offset, _MAX_LIMIT) + _validate_limit(limit))
        return await self._database.read(_read_page, _ThreadKey.of(thread_id, owner), window)

    async def remove(self, thread_id: str, *, owner: str = "") -> None:
        await self._database.write(_change_one, _ThreadKey.of(thread_id, owner), delete(threads))

    async def archive_idle(self, *, idle_seconds: float = 3600) -> int:
        now = self._clock()
        query = _select_idle(now, _validate_seconds("idle_seconds", idle_seconds))
        count = 0
        while await self._database.read(lambda connection: connection.execute(query.limit(1)).first()) is not None:
            batch = await self._database.write(_archive_threads, query.limit(_BATCH), now)
            if not batch:
                break  # the remaining threads are in use
            count += batch
        return count

    async def remove_idle(self, *, idle_seconds: float) -> int:
        now = self._clock()
        is_idle = and_(threads.c.updated_at < now - _validate_seconds("idle_seconds", idle_seconds), _is_free(now))
        idle = select(threads.c.thread_id).where(is_idle).limit(_BATCH)
        count = 0
        while await self._database.read(lambda connection: connection.execute(idle.limit(1)).first()) is not None:
            batch = await self._database.write(_remove_threads, idle)
            if not batch:
                break  # the remaining threads are in use
            count += batch
        return count


def _begin(
    connection: Connection, key: _ThreadKey, question: str, now: datetime, lease: timedelta, leases: ThreadLeases
) -> Thread:
    row = _lock_row(connection, key)
    leases.require_free(connection, key.thread_id, row.busy_until)
    live, archived = _restore_live(connection, row)
    turn = _turn(question, at=max([now, row.updated_at, *(message_from(message).timestamp for message in live[-1:])]))
    messages = [*live, *turn]
    oldest, newest = messages[:-LIVE_MESSAGES_MAX], messages[-LIVE_MESSAGES_MAX:]
    _archive_messages(connection, key.thread_id, archived, oldest)
    connection.execute(
        update(threads)
        .where(key.condition)
        .values(
            messages=newest,
            archived_count=archived + len(oldest),
            archived_at=None,
            busy_until=leases.end(connection, lease),
            updated_at=max(now, row.updated_at),
        )
    )
    return thread_from(row, live)


def _finish(
    connection: Connection, key: _ThreadKey, answer: ThreadMessage, now: datetime, position: int | None
) -> Thread:
    row = _lock_row(connection, key)
    live, archived = _restore_live(connection, row)
    newest = len(live) - 2
    index = newest if position is None else position - archived
    is_open = row.busy_until is not None if index == newest else 0 <= index < newest and _is_incomplete(live[index + 1])
    if not is_open:
        raise NotFound(f"Thread {key.thread_id} has no unanswered question.", advice="Ask a question first.")
    change = (
        update(threads)
        .where(key.condition)
        .values(
            messages=[*live[: index + 1], _placed(answer, live, index + 1), *live[index + 2 :]],
            archived_count=archived,
            archived_at=None,
            busy_until=None if index == newest else row.busy_until,
            updated_at=max(now, row.updated_at),
        )
        .returning(threads)
    )
    row = connection.execute(change).one()
    return thread_from(row, row.messages)


def _is_incomplete(message: StoredMessage) -> bool:
    return not message_from(message).complete


def _placed(answer: ThreadMessage, live: list[StoredMessage], index: int) -> StoredMessage:
    """The answer as it is stored, in the order of time even if clocks differ or a later question is there already."""
    timestamp = max(answer.timestamp, message_from(live[index - 1]).timestamp)
    if index + 1 < len(live):
        timestamp = min(timestamp, message_from(live[index + 1]).timestamp)
    return message_row(replace(answer, timestamp=timestamp))


def _turn(question: str, *, at: datetime) -> list[StoredMessage]:
    user_message = ThreadMessage(role="user", content=question, timestamp=at)
    pending_answer = ThreadMessage(role="assistant", content="", timestamp=at, complete=False)
    return [message_row(user_message), message_row(pending_answer)]


def _archive_threads(connection: Connection, idle: Select[Any], now: datetime) -> int:
    rows = connection.execute(idle.with_for_update(skip_locked=True)).all()
    messages = [
        {"thread_id": row.thread_id, "position": position, "message": message}
        for row in rows
        for position, message in enumerate(row.messages, start=row.archived_count)
    ]
    if messages:
        connection.execute(insert(archived_messages), messages)
    counts = [{"of_thread": row.thread_id, "count": row.archived_count + len(row.messages)} for row in rows]
    if counts:
        values = {"messages": [], "archived_count": bindparam("count"), "archived_at": now}
        connection.execute(update(threads).where(threads.c.thread_id == bindparam("of_thread")).values(values), counts)
    return len(rows)


def _remove_threads(connection: Connection, idle: Select[Any]) -> int:
    ids = list(connection.execute(idle.with_for_update(skip_locked=True)).scalars())
    if ids:
        connection.execute(delete(threads).where(threads.c.thread_id.in_(ids)))
    return len(ids)


def _is_free(now: datetime) -> ColumnElement[bool]:
    return or_(threads.c.busy_until.is_(None), threads.c.busy_until <= now, threads.c.busy_until > now + _LEASE_MAX)


def _select_idle(now: datetime, idle: timedelta) -> Select[Any]:
    is_idle = and_(threads.c.archived_at.is_(None), threads.c.updated_at < now - idle)
    return select(threads).where(is_idle, _is_free(now)).order_by(threads.c.updated_at)


def _archive_messages(connection: Connection, thread_id: str, first: int, messages: Sequence[StoredMessage]) -> None:
    rows = [
        {"thread_id": thread_id, "position": position, "message": message}
        for position, message in enumerate(messages, start=first)
    ]
    if rows:
        connection.execute(insert(archived_messages), rows)


def _restore_live(connection: Connection, row: Row[Any]) -> tuple[list[StoredMessage], int]:
    """The live messages and the number of archived ones before them. Takes the newest out of cold storage if needed."""
    if row.archived_at is None:
        return row.messages, row.archived_count
    first = max(0, row.archived_count - LIVE_MESSAGES_MAX)
    is_recent = and_(archived_messages.c.thread_id == row.thread_id, archived_messages.c.position >= first)
    rows = connection.execute(delete(archived_messages).where(is_recent).returning(archived_messages)).all()
    return [message.message for message in sorted(rows, key=lambda message: message.position)], first


def _read_thread(connection: Connection, key: _ThreadKey) -> Thread:
    _use_one_snapshot(connection)
    row = key.require(connection.execute(select(threads).where(key.condition)).first())
    is_archived = row.archived_at is not None
    return thread_from(row, _newest_archived(connection, row, LIVE_MESSAGES_MAX) if is_archived else row.messages)


def _read_history(connection: Connection, key: _ThreadKey, limit: int) -> list[ThreadMessage]:
    _use_one_snapshot(connection)
    row = key.require(connection.execute(select(threads).where(key.condition)).first())
    archived = _newest_archived(connection, row, limit - len(row.messages))
    return [message_from(message) for message in [*archived, *row.messages][-limit:]]


def _read_page(connection: Connection, key: _ThreadKey, window: range) -> ThreadPage:
    _use_one_snapshot(connection)
    row = key.require(connection.execute(select(threads).where(key.condition)).first())
    position = archived_messages.c.position
    query = select(archived_messages.c.message).where(
        archived_messages.c.thread_id == row.thread_id, position >= window.start, position < window.stop
    )
    archived = connection.execute(query.order_by(position)).scalars() if window.start < row.archived_count else ()
    live = row.messages[max(0, window.start - row.archived_count) : max(0, window.stop - row.archived_count)]
    return ThreadPage(
        messages=tuple(message_from(message) for message in [*archived, *live]),
        total=row.archived_count + len(row.messages),
    )


def _newest_archived(connection: Connection, row: Row[Any], limit: int) -> list[StoredMessage]:
    if limit <= 0 or row.archived_count == 0:
        return []
    newest_first = archived_messages.c.position.desc()
    query = select(archived_messages.c.message).where(archived_messages.c.thread_id == row.thread_id)
    return list(connection.execute(query.order_by(newest_first).limit(limit)).scalars())[::-1]


def _use_one_snapshot(connection: Connection) -> None:
    """Makes the following reads see one state, so that a message being archived is read exactly once."""
    isolation = "" if connection.dialect.name == "sqlite" else " ISOLATION LEVEL REPEATABLE READ READ ONLY"
    connection.exec_driver_sql(f"BEGIN{isolation}")


def _lock_row(connection: Connection, key: _ThreadKey) -> Row[Any]:
    """The row of the thread, locked until the end of the transaction."""
    return key.require(connection.execute(select(threads).where(key.condition).with_for_update()).first())


def _change_one(connection: Connection, key: _ThreadKey, change: Update | Delete) -> None:
    if not connection.execute(change.where(key.condition)).rowcount:
        raise key.not_found()


def _truncate(text: str) -> str:
    if len(text) <= SUMMARY_MAX:
        return text
    match = _WHOLE_WORDS.match(text)
    return match[0].rstrip() if match else text[:SUMMARY_MAX]


def _validate_limit(limit: int) -> int:
    if limit < 1:
        raise InvalidInput(f"limit is {limit}; it must be 1 or more.", advice="Use a larger limit.")
    return min(limit, _MAX_LIMIT)


def _validate_seconds(name: str, seconds: float) -> timedelta:
    if not 0 <= seconds <= _MAX_SECONDS:
        raise InvalidInput(
            f"{name} is {seconds}; it must be between 0 and {_MAX_SECONDS:,}.", advice="Use a value in this range."
        )
    return timedelta(seconds=seconds)
