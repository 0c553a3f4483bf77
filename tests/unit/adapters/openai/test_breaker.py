"""When a failing service is left alone."""

from bookwise.adapters.openai.breaker import COOL_DOWN, FAILURES, Breaker
from tests.support.stopped_time import StoppedTime


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        era = breaker.admit()
        assert era is not None
        breaker.settle(era, "failed")


def opened(time: StoppedTime) -> Breaker:
    breaker = Breaker(time.clock)
    fail(breaker, FAILURES)
    return breaker


def test_it_opens_after_five_failures_in_a_row_and_not_before() -> None:
    breaker = Breaker(StoppedTime().clock)
    fail(breaker, 4)
    assert not breaker.is_open
    fail(breaker)
    assert breaker.is_open
    assert breaker.admit() is None


def test_a_success_in_between_starts_the_count_anew() -> None:
    breaker = Breaker(StoppedTime().clock)
    fail(breaker, 4)
    era = breaker.admit()
    assert era is not None
    breaker.settle(era, "succeeded")
    fail(breaker, 4)
    assert not breaker.is_open


def test_what_says_nothing_about_the_service_neither_counts_nor_starts_anew() -> None:
    breaker = Breaker(StoppedTime().clock)
    fail(breaker, 4)
    era = breaker.admit()
    assert era is not None
    breaker.settle(era, "unknown")
    assert not breaker.is_open
    fail(breaker)
    assert breaker.is_open


def test_nothing_is_sent_during_the_cool_down() -> None:
    time = StoppedTime()
    breaker = opened(time)
    time.now += COOL_DOWN - 0.1
    assert breaker.admit() is None


def test_after_the_cool_down_one_probe_at_a_time_goes_through() -> None:
    time = StoppedTime()
    breaker = opened(time)
    time.now += COOL_DOWN
    assert breaker.admit() is not None
    assert [breaker.admit() for _ in range(9)] == [None] * 9


def test_a_probe_that_fails_opens_it_for_another_cool_down() -> None:
    time = StoppedTime()
    breaker = opened(time)
    time.now += COOL_DOWN
    fail(breaker)
    time.now += COOL_DOWN - 0.1
    assert breaker.admit() is None
    time.now += 0.1
    assert breaker.admit() is not None


def test_a_probe_that_succeeds_closes_it() -> None:
    time = StoppedTime()
    breaker = opened(time)
    time.now += COOL_DOWN
    era = breaker.admit()
    assert era is not None
    breaker.settle(era, "succeeded")
    assert not breaker.is_open
    assert None not in [breaker.admit() for _ in range(9)]
    fail(breaker, 4)
    assert not breaker.is_open


def test_a_probe_nobody_waited_for_gives_its_place_to_the_next() -> None:
    time = StoppedTime()
    breaker = opened(time)
    time.now += COOL_DOWN
    era = breaker.admit()
    assert era is not None
    breaker.settle(era, "unknown")
    assert breaker.is_open
    assert breaker.admit() is not None
    assert breaker.admit() is None


def test_requests_sent_before_it_opened_change_nothing_after() -> None:
    time = StoppedTime()
    breaker = Breaker(time.clock)
    late = [breaker.admit() for _ in range(2)]
    fail(breaker, FAILURES)
    time.now += COOL_DOWN
    probe = breaker.admit()
    assert probe is not None
    for era in late:
        assert era is not None
        breaker.settle(era, "failed")
    assert breaker.admit() is None, "the probe is still under way"
    breaker.settle(probe, "succeeded")
    assert not breaker.is_open
