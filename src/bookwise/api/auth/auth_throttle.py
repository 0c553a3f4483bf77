"""Limits requests whose keys are refused, by address, and remembers keys that failed."""

import time
from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address

from bookwise.domain.errors import Denied, TooManyRequests

WINDOW_SECONDS = 60.0
FAILURES_PER_WINDOW = 60
ADDRESSES_REMEMBERED = 10_000
SECRETS_REMEMBERED = 10_000


class AuthThrottle:
    """Slows down clients whose keys are refused. Requests with a valid key are never affected.

    Only failures are counted, so clients with a valid key at the same address are not slowed down. A secret that failed
    is not looked up again for a minute: secrets are random, so one that failed cannot become valid. The number of
    remembered addresses and secrets is bounded; the oldest are dropped first.
    """

    def __init__(self, *, per_window: int = FAILURES_PER_WINDOW, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_window = per_window
        self._clock = clock
        self._failures: dict[str, tuple[float, int]] = {}  # address → (start of its window, failures since)
        self._bad: dict[bytes, float] = {}  # hash of a secret → time of the failure

    def has_failed(self, secret: str) -> bool:
        """Whether this secret failed within the last minute."""
        failed_at = self._bad.get(_hashed(secret))
        return failed_at is not None and failed_at + WINDOW_SECONDS > self._clock()

    def remember(self, secret: str) -> None:
        """Records that no key has this secret."""
        hashed = _hashed(secret)
        self._bad.pop(hashed, None)
        self._bad[hashed] = self._clock()
        if len(self._bad) > SECRETS_REMEMBERED:
            del self._bad[next(iter(self._bad))]

    def refusal(self, address: str, error: Denied) -> Denied:
        """Counts a request from this address whose key is refused, and returns the error to raise: the given one, or
        `TooManyRequests`."""
        now = self._clock()
        start, failures = self._failures.pop(address, (now, 0))
        if start + WINDOW_SECONDS <= now:
            start, failures = now, 0
        self._failures[address] = (start, failures + 1)
        if len(self._failures) > ADDRESSES_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        if failures < self._per_window:
            return error
        return TooManyRequests(
            "Too many requests with an invalid API key came from this address.",
            advice="Send a valid key. Valid keys are not affected by this limit.",
            retry_after=start + WINDOW_SECONDS - now,
        )

    @property
    def remembered(self) -> int:
        """The number of addresses and secrets in memory."""
        return len(self._failures) + len(self._bad)


def network(host: str) -> str:
    """The address to count by. For IPv6 that is the /64 network, because one customer usually has a whole one."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def _hashed(secret: str) -> bytes:
    return sha256(secret.encode()).digest()
