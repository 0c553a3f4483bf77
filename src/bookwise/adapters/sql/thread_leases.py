"""Leases of threads: while a question is answered, its thread accepts no other one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic

from sqlalchemy import Connection, Update, func, select, update

from bookwise.adapters.sql.tables import threads
from bookwise.domain.errors import ThreadBusy
from bookwise.domain.threads import LEASE_SECONDS

LEASE_MAX_SECONDS = 120.0  #: no lease is longer, so a stored end that is further away comes from another clock
RETRY_SECONDS = 5.0  #: when to ask again while this process answers; most answers take less

Key = tuple[str, str]  #: thread id and owner


class ThreadLeases:
    """The questions that this process is answering.

    If other processes answer too, each lease is stored for a short time and renewed: the threads of a process that has
    died are free soon. If only this process answers (`exclusive`), what it remembers decides. Then no clock matters,
    and after a restart all threads are free.
    """

    def __init__(self, *, exclusive: bool, clock: Callable[[], datetime] | None) -> None:
        self._exclusive = exclusive
        self._clock = clock  #: None: the clock of the database server, which all processes share
        self._held: dict[Key, float] = {}  #: until when each lease is renewed, on the monotonic clock

    @contextmanager
    def claim(self, key: Key, seconds: float) -> Iterator[None]:
        """Holds the lease for at most `seconds`, if the block succeeds. Raises `ThreadBusy`."""
        if not self._exclusive:
            yield
            self._held[key] = monotonic() + seconds
            return
        if (left := self._held.get(key, 0.0) - monotonic()) > 0:
            raise thread_busy(key[0], min(left, RETRY_SECONDS))
        self._held[key] = monotonic() + seconds  # before the block, in which another question may arrive
        try:
            yield
        except BaseException:
            self.drop(key)
            raise

    def drop(self, key: Key) -> None:
        self._held.pop(key, None)

    def require_free(self, connection: Connection, thread_id: str, busy_until: datetime | None) -> None:
        """Raises `ThreadBusy` while another process holds the stored lease."""
        if self._exclusive or busy_until is None:
            return
        left = (busy_until - self._now(connection)).total_seconds()
        if 0 < left <= LEASE_MAX_SECONDS:
            raise thread_busy(thread_id, left)

    def end(self, connection: Connection, lease: timedelta) -> datetime:
        """The end of a new lease, to be stored."""
        return self._now(connection) + min(lease, timedelta(seconds=LEASE_SECONDS))

    @property
    def needs_renewal(self) -> bool:
        now = monotonic()
        self._held = {key: until for key, until in self._held.items() if until > now}
        return bool(self._held) and not self._exclusive

    def renew(self, connection: Connection) -> None:
        """Stores new ends for all leases that are still held."""
        connection.execute(self._renewal(self._now(connection)))

    def _renewal(self, now: datetime) -> Update:
        is_held = threads.c.thread_id.in_([thread_id for thread_id, _ in self._held])
        end = now + timedelta(seconds=LEASE_SECONDS)
        return update(threads).where(is_held, threads.c.busy_until.is_not(None)).values(busy_until=end)

    def _now(self, connection: Connection) -> datetime:
        if self._clock is not None:
            return self._clock()
        if connection.dialect.name == "sqlite":
            return datetime.now(UTC)
        now: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
        return now


def thread_busy(thread_id: str, retry_after: float) -> ThreadBusy:
    """The error for a question that comes while the previous one is answered."""
    return ThreadBusy(
        f"Thread {thread_id} is still answering the previous question.",
        advice="Wait for that answer, then try again.",
        retry_after=retry_after,
    )
