"""What becomes of keys that do not work, however many come."""

import pytest

from bookwise.api.auth.auth_throttle import ADDRESSES_REMEMBERED, SECRETS_REMEMBERED, AuthThrottle, network
from bookwise.domain.errors import TooManyRequests, Unauthenticated
from tests.support.stopped_time import StoppedTime

REFUSED = Unauthenticated("This API key is not valid.")


@pytest.fixture
def time() -> StoppedTime:
    return StoppedTime()


@pytest.fixture
def throttle(time: StoppedTime) -> AuthThrottle:
    return AuthThrottle(clock=time.clock)


def test_sixty_failures_a_minute_are_told_what_is_wrong_and_the_others_when_to_come_back(
    throttle: AuthThrottle, time: StoppedTime
) -> None:
    for _ in range(60):
        assert isinstance(throttle.refusal("192.0.2.1", REFUSED), Unauthenticated)
    time.now += 12
    refused = throttle.refusal("192.0.2.1", REFUSED)
    assert isinstance(refused, TooManyRequests)
    assert refused.retry_after == 48
    assert isinstance(throttle.refusal("192.0.2.2", REFUSED), Unauthenticated), "each address for itself"
    time.now += 48
    assert isinstance(throttle.refusal("192.0.2.1", REFUSED), Unauthenticated)


def test_a_secret_that_failed_is_known_for_a_minute(throttle: AuthThrottle, time: StoppedTime) -> None:
    assert not throttle.has_failed("bw_wrong")
    for _ in range(2):
        throttle.remember("bw_wrong")
        time.now += 59.5
        assert throttle.has_failed("bw_wrong")
        assert not throttle.has_failed("bw_right")
        time.now += 0.5
        assert not throttle.has_failed("bw_wrong")


def test_memory_does_not_grow_with_the_addresses_and_secrets_of_a_flood(throttle: AuthThrottle) -> None:
    for number in range(3 * ADDRESSES_REMEMBERED):
        throttle.refusal(f"address {number}", REFUSED)
        throttle.remember(f"secret {number}")
    assert throttle.remembered == ADDRESSES_REMEMBERED + SECRETS_REMEMBERED
    assert throttle.has_failed(f"secret {3 * SECRETS_REMEMBERED - 1}"), "the newest are kept"


def test_an_address_that_goes_on_failing_is_not_forgotten_for_others(throttle: AuthThrottle) -> None:
    for number in range(3 * ADDRESSES_REMEMBERED):
        throttle.refusal(f"address {number}", REFUSED)
        last = throttle.refusal("192.0.2.1", REFUSED) if number % 100 == 0 else None
        assert number < 6_000 or last is None or isinstance(last, TooManyRequests)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::"),
        ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ("fe80::1%eth0", "fe80::"),
        ("testclient", "testclient"),
        ("", ""),
    ],
)
def test_of_ipv6_the_network_counts_because_one_customer_has_all_of_its_addresses(host: str, expected: str) -> None:
    assert network(host) == expected
