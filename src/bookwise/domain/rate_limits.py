"""The limits of a caller: requests per minute and open streams."""

from dataclasses import dataclass

from bookwise.domain.access import Caller
from bookwise.domain.errors import TooManyRequests

WINDOW_SECONDS = 60
SHARED_KEY_FACTOR = 10  #: a key that is published in a page has this many times the limit of one address
STREAM_RETRY_SECONDS = 5.0  # most answers take less
LEASE_SECONDS = 30.0  #: how long the streams of a process that has died still count
MAINTENANCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RateState:
    """The number of requests a caller has left, and when there is one more. A limit of 0 means no limit."""

    limit: int
    remaining: int
    reset_seconds: float


UNLIMITED = RateState(limit=0, remaining=0, reset_seconds=0)


@dataclass(frozen=True, slots=True)
class Share:
    """A limit that a request counts towards: of one address, or of all addresses of a key (an empty address)."""

    owner: str
    address: str
    limit: int

    def rate_error(self, retry_after: float) -> TooManyRequests:
        return TooManyRequests(
            f"Rate limit reached: {self.limit} requests per minute{self._scope}.",
            advice="Wait for the time in Retry-After, or ask the operator for a higher rate.",
            retry_after=retry_after,
        )

    def stream_error(self) -> TooManyRequests:
        return TooManyRequests(
            f"Stream limit reached: {self.limit} open streams{self._scope}.",
            advice="Wait until a stream has ended, or close one, then ask again.",
            retry_after=STREAM_RETRY_SECONDS,
        )

    @property
    def _scope(self) -> str:
        return " for your address" if self.address else ""


def rate_shares(caller: Caller) -> list[Share]:
    """The rate limits of the caller; none for a caller without a limit."""
    return _shares(caller, caller.rate_per_minute)


def stream_shares(caller: Caller) -> list[Share]:
    """The stream limits of the caller; none for a caller without a limit."""
    return _shares(caller, caller.streams_at_once)


def _shares(caller: Caller, limit: int) -> list[Share]:
    """A key published in a page is used from many addresses. Each has the limits of the key, and all together ten times
    as much, so that one address cannot use up the key for the others."""
    if not limit:
        return []
    if not caller.address:
        return [Share(caller.owner, "", limit)]
    return [Share(caller.owner, caller.address, limit), Share(caller.owner, "", SHARED_KEY_FACTOR * limit)]
