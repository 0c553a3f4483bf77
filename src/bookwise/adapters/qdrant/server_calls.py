"""Calls to a Qdrant server: each has a deadline, and is sent again while that can help. No other layer retries."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import anyio

from bookwise.adapters.backoff import backoff
from bookwise.adapters.qdrant.server_errors import CLIENT_ERRORS, ServerFailure, classify, unavailable
from bookwise.domain.errors import BookwiseError

ATTEMPTS = 4  #: per call, including the first
FIRST_WAIT = 0.2  #: seconds; a question waits for it

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTimeouts:
    """How long a call may take, and the clock that measures it."""

    read_seconds: float = 10.0  #: per reading call, including all attempts and waits
    write_seconds: float = 60.0  #: the same for a writing call
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = time.monotonic


class ServerCalls:
    """Runs calls of the client. Every call can be repeated: a write names the points it replaces or removes."""

    def __init__(self, server: str, timeouts: ServerTimeouts) -> None:
        self.server = server  #: the address for messages, without secrets
        self._timeouts = timeouts

    async def read(self, call: Callable[[], Awaitable[T]]) -> T:
        return await self._run(call, self._timeouts.read_seconds)

    async def write(self, call: Callable[[], Awaitable[T]]) -> T:
        return await self._run(call, self._timeouts.write_seconds)

    async def _run(self, call: Callable[[], Awaitable[T]], seconds: float) -> T:
        timeouts, attempt = self._timeouts, 0
        deadline = timeouts.clock() + seconds
        while True:
            attempt += 1
            try:
                # Half of the time at most: a connection that hangs leaves time for another attempt.
                with anyio.fail_after(min(seconds / 2, deadline - timeouts.clock())):
                    return await call()
            except TimeoutError:
                failure = ServerFailure(reason=f"did not respond within {seconds / 2:.3g} s")
            except CLIENT_ERRORS as error:
                failure = self._retryable(error)
            wait = backoff(attempt, first=FIRST_WAIT) if failure.wait is None else failure.wait
            if attempt == ATTEMPTS or timeouts.clock() + wait >= deadline:
                raise unavailable(self.server, _last_words(failure, attempt))
            await timeouts.sleep(wait)

    def _retryable(self, error: Exception) -> ServerFailure:
        """Why to try again. Raises the error that a retry cannot change."""
        outcome = classify(error, self.server)
        if isinstance(outcome, BookwiseError):
            raise outcome from error
        return outcome


def _last_words(failure: ServerFailure, attempts: int) -> str:
    wait = f" and asks to wait {failure.wait:.0f} s" if failure.wait else ""
    count = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    return f"{failure.reason}{wait}; stopped after {count}"
