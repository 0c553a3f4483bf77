"""Requests whose key does not work → how many of them an address may send, and which keys need not be looked up."""

import time
from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv6Address, ip_address

from bookwise.domain.errors import TooManyRequests, Unauthenticated

WINDOW_SECONDS = 60.0
FAILURES_PER_WINDOW = 60
ADDRESSES_REMEMBERED = 10_000
SECRETS_REMEMBERED = 10_000


class AuthThrottle:
    """Turns away whoever has no key that works, and never anyone who has one.

    Only what failed is counted, so a key that works is not held up by others at its address. What failed once is not
    looked up again for a minute: secrets are drawn at random when they are made, so none that failed can begin to
    work. Of each no more than a fixed number is remembered; the oldest is forgotten first.
    """

    def __init__(self, *, per_window: int = FAILURES_PER_WINDOW, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_window = per_window
        self._clock = clock
        self._failures: dict[str, tuple[float, int]] = {}  # address → when its window began, failures since
        self._bad: dict[bytes, float] = {}  # hash of a secret → when it failed

    def is_known(self, secret: str) -> bool:
        """Whether this secret failed within the last minute."""
        failed = self._bad.get(_hashed(secret))
        return failed is not None and failed + WINDOW_SECONDS > self._clock()

    def remember(self, secret: str) -> None:
        """No key has this secret."""
        hashed = _hashed(secret)
        self._bad.pop(hashed, None)
        self._bad[hashed] = self._clock()
        if len(self._bad) > SECRETS_REMEMBERED:
            del self._bad[next(iter(self._bad))]

    def refusal(self, address: str) -> Unauthenticated | TooManyRequests:
        """What to tell this address, which sent a key that does not work."""
        now = self._clock()
        began, failures = self._failures.pop(address, (now, 0))
        if began + WINDOW_SECONDS <= now:
            began, failures = now, 0
        self._failures[address] = (began, failures + 1)
        if len(self._failures) > ADDRESSES_REMEMBERED:
            del self._failures[next(iter(self._failures))]
        if failures < self._per_window:
            return Unauthenticated("This API key does not work.", advice="`bookwise keys list` shows the keys that do.")
        return TooManyRequests(
            "Too many requests from this address came with a key that does not work.",
            advice="Send a key that works; nothing holds that up. `bookwise keys list` shows them.",
            retry_after=began + WINDOW_SECONDS - now,
        )

    @property
    def remembered(self) -> int:
        """How many addresses and secrets are kept in memory."""
        return len(self._failures) + len(self._bad)


def network(host: str) -> str:
    """The address one customer has: of IPv6 that is a network of 64 bits, not a single address."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))


def _hashed(secret: str) -> bytes:
    return sha256(secret.encode()).digest()
