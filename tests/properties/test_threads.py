"""Whatever happens to threads in whatever order, they hold what a plain list of everything said would hold."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.domain.errors import NotFound, ThreadBusy
from bookwise.domain.threads import IDLE_SECONDS
from tests.support.databases import ask
from tests.support.talks import WallClock, answer, said_and_complete

LEASE = 12
OWNER = "ann"

Call: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]


@dataclass
class Told:
    """A thread as one would keep it on paper."""

    used: datetime
    messages: list[tuple[str, bool]] = field(default_factory=list)
    held_until: datetime | None = None
    cold: bool = False

    def is_busy(self, now: datetime) -> bool:
        return self.held_until is not None and self.held_until > now


class Threads(RuleBasedStateMachine):
    ids: Bundle[str] = Bundle("ids")

    def __init__(self, portal: BlockingPortal, database: Database) -> None:
        super().__init__()
        self.portal, self.database, self.clock = portal, database, WallClock()
        self.store = SqlThreads(database, clock=self.clock)
        self.told: dict[str, Told] = {}
        self.questions = 0

    def wait(self, call: Call, *args: object, **options: object) -> Any:
        return self.portal.call(partial(call, *args, **options))

    @rule(target=ids)
    def create(self) -> Any:
        if len(self.told) == 3:
            return multiple()
        thread = self.wait(self.store.create, book_id="robots", owner=OWNER)
        self.told[thread.id] = Told(used=self.clock.now)
        return thread.id

    @rule(thread_id=ids)
    def begin(self, thread_id: str) -> None:
        self.questions += 1
        question = f"question {self.questions}"
        told = self.told.get(thread_id)
        if told is None or told.is_busy(self.clock.now):
            with pytest.raises(NotFound if told is None else ThreadBusy):
                self.wait(self.store.begin, thread_id, question, owner=OWNER, lease_seconds=LEASE)
            return
        before = self.wait(self.store.begin, thread_id, question, owner=OWNER, lease_seconds=LEASE)
        assert said_and_complete(before.messages) == told.messages[-50:]
        told.messages += [(question, True), ("", False)]
        told.held_until = self.clock.now + timedelta(seconds=LEASE)
        told.used, told.cold = self.clock.now, False

    @rule(thread_id=ids, complete=st.booleans())
    def finish(self, thread_id: str, complete: bool) -> None:
        given = answer(f"answer {self.questions}", self.clock, complete=complete)
        told = self.told.get(thread_id)
        if told is None or told.held_until is None:
            with pytest.raises(NotFound):
                self.wait(self.store.finish, thread_id, given, owner=OWNER)
            return
        self.wait(self.store.finish, thread_id, given, owner=OWNER)
        told.messages[-1] = (given.content, complete)
        told.held_until = None
        told.used, told.cold = self.clock.now, False

    @rule(thread_id=ids, exchanges=st.integers(2, 30))
    def talk(self, thread_id: str, exchanges: int) -> None:
        for _ in range(exchanges):
            self.begin(thread_id)
            self.finish(thread_id, True)

    @rule(seconds=st.sampled_from([1, LEASE - 1, LEASE, IDLE_SECONDS, IDLE_SECONDS + 1]))
    def move_the_clock(self, seconds: int) -> None:
        self.clock.move(seconds)

    @rule(seconds=st.sampled_from([0, IDLE_SECONDS]))
    def archive(self, seconds: int) -> None:
        since = self.clock.now - timedelta(seconds=seconds)
        idle = [told for told in self.told.values() if told.used < since and not told.is_busy(self.clock.now)]
        moved = [told for told in idle if not told.cold]
        assert self.wait(self.store.archive_idle, idle_seconds=seconds) == len(moved)
        for told in moved:
            told.cold = True

    @rule(thread_id=ids)
    def remove(self, thread_id: str) -> None:
        if self.told.pop(thread_id, None) is None:
            with pytest.raises(NotFound):
                self.wait(self.store.remove, thread_id, owner=OWNER)
        else:
            self.wait(self.store.remove, thread_id, owner=OWNER)

    @invariant()
    def every_thread_holds_what_was_said(self) -> None:
        for thread_id, told in self.told.items():
            thread = self.wait(self.store.thread, thread_id, owner=OWNER)
            assert said_and_complete(thread.messages) == told.messages[-50:]
            assert (thread.archived_messages, thread.archived) == (len(told.messages[:-50]), told.cold)
            assert thread.updated_at == told.used
            history = self.wait(self.store.history, thread_id, owner=OWNER)
            assert said_and_complete(history) == told.messages

    @invariant()
    def the_archive_holds_what_is_not_live_and_nothing_else(self) -> None:
        away = sum(len(told.messages if told.cold else told.messages[:-50]) for told in self.told.values())
        assert self.wait(ask, self.database, "SELECT count(*) FROM archived_messages") == away

    def teardown(self) -> None:
        for thread_id in self.told:
            self.wait(self.store.remove, thread_id, owner=OWNER)


@pytest.mark.slow
def test_threads_hold_what_a_list_of_everything_said_would_hold(migrated_url: str) -> None:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_database(migrated_url)) as database,
    ):
        run_state_machine_as_test(
            lambda: Threads(portal, database),  # type: ignore[arg-type]  # any factory will do
            settings=settings(
                max_examples=15, stateful_step_count=25, suppress_health_check=[HealthCheck.too_slow], deadline=None
            ),
        )
