"""Bounds the work of one process: some questions at once, a short queue, and a clear refusal for the rest.

Without it, a service that is asked more than it can answer answers everybody too late.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager

import anyio

from bookwise.answering.ask import AskKit
from bookwise.domain.answers import AnswerEvent, EngineName, EvidenceFound
from bookwise.domain.errors import Overloaded

AT_ONCE = 8  #: more would only share the same core; fewer would leave it idle while a remote index responds
FIRST_GUESS = 0.1  #: seconds of a turn, before one has ended
SMOOTHING = 0.1  #: weight of the newest turn in the mean time of a turn


class LoadLimit:
    """Turns for questions and searches. A turn ends when only the language model has work left to do: answers that wait
    for it cost almost nothing, so thousands of them may be open."""

    def __init__(self, longest_wait: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_wait = longest_wait
        self._clock = clock
        self._slots = anyio.CapacityLimiter(AT_ONCE)
        self._mean_seconds = FIRST_GUESS

    @asynccontextmanager
    async def turn(self) -> AsyncIterator["Turn"]:
        """Waits for a turn, first come, first served. Raises `Overloaded` at once when the wait would be too long."""
        waiting = self._slots.statistics().tasks_waiting
        wait = (waiting + 1) * self._mean_seconds / AT_ONCE
        if self._slots.available_tokens <= 0 and wait > self._longest_wait:
            raise Overloaded(
                f"The service is overloaded: {waiting} questions are waiting for their turn.",
                advice="Wait for the time in Retry-After, then ask again.",
                retry_after=wait,
            )
        turn = Turn(self._slots, self._clock)
        await self._slots.acquire_on_behalf_of(turn)
        turn.began = self._clock()
        try:
            yield turn
        finally:
            turn.end()
            self._mean_seconds += SMOOTHING * (turn.seconds - self._mean_seconds)

    async def answer(
        self, events: AsyncGenerator[AnswerEvent], kit: AskKit, engine: EngineName | None = None
    ) -> AsyncGenerator[AnswerEvent]:
        """The events of an answer, which is not begun before its turn."""
        async with self.turn() as turn, aclosing(events):
            async for event in events:
                if isinstance(event, EvidenceFound) and _model_writes(kit, engine):
                    turn.end()
                yield event


class Turn:
    """The right to use the processor."""

    def __init__(self, slots: anyio.CapacityLimiter, clock: Callable[[], float]) -> None:
        self.began = self.seconds = 0.0
        self._slots, self._clock = slots, clock
        self._has_ended = False

    def end(self) -> None:
        """Gives the turn to the next. Ending it twice does no harm."""
        if not self._has_ended:
            self._has_ended = True
            self.seconds = self._clock() - self.began
            self._slots.release_on_behalf_of(self)


def _model_writes(kit: AskKit, engine: EngineName | None) -> bool:
    """Whether a language model writes the answer. While it is away, answers are quoted, which is work for this
    process."""
    return (engine or kit.engine) != "extractive" and kit.model is not None and kit.model.is_available
