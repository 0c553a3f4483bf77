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
FIRST_GUESS = 0.1  #: seconds that a question needs, before one has ended
SMOOTHING = 0.1  #: weight of the newest question in the mean time that one needs


class LoadLimit:
    """Slots for questions and searches. A slot is released when only the language model has work left to do: answers
    that wait for it cost almost nothing, so thousands of them may be open."""

    def __init__(self, longest_wait: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest_wait = longest_wait
        self._clock = clock
        self._slots = anyio.CapacityLimiter(AT_ONCE)
        self._waiting = 0
        self._mean_seconds = FIRST_GUESS

    @property
    def expected_wait(self) -> float:
        """Seconds that a new question would wait for its slot."""
        return (self._waiting + 1) * self._mean_seconds / AT_ONCE if self._slots.available_tokens <= 0 else 0.0

    @property
    def is_full(self) -> bool:
        """Whether a new question would wait too long. Only questions with a valid key, within its rate, are counted."""
        return self.expected_wait > self._longest_wait

    def refusal(self) -> Overloaded:
        return Overloaded(
            "The service is overloaded: too many questions are waiting for their turn.",
            advice="Wait for the time in Retry-After, then ask again.",
            retry_after=self.expected_wait,
        )

    @asynccontextmanager
    async def slot(self) -> AsyncIterator["Slot"]:
        """Waits for a slot, first come, first served. Raises `Overloaded` at once when the wait would be too long."""
        if self.is_full:
            raise self.refusal()
        slot = Slot(self._slots, self._clock)
        await self._wait_for(slot)
        slot.began = self._clock()
        try:
            yield slot
        finally:
            slot.release()
            self._mean_seconds += SMOOTHING * (slot.seconds - self._mean_seconds)

    async def _wait_for(self, slot: "Slot") -> None:
        self._waiting += 1
        try:
            await self._slots.acquire_on_behalf_of(slot)
        finally:
            self._waiting -= 1

    async def answer(
        self, events: AsyncGenerator[AnswerEvent], kit: AskKit, engine: EngineName | None = None
    ) -> AsyncGenerator[AnswerEvent]:
        """The events of an answer, which does not begin before it has a slot."""
        async with self.slot() as slot, aclosing(events):
            async for event in events:
                if isinstance(event, EvidenceFound) and _model_writes(kit, engine):
                    slot.release()
                yield event


class Slot:
    """The right to work on one question."""

    def __init__(self, slots: anyio.CapacityLimiter, clock: Callable[[], float]) -> None:
        self.began = self.seconds = 0.0
        self._slots, self._clock = slots, clock
        self._is_released = False

    def release(self) -> None:
        """Gives the slot to the next question. Doing it twice does no harm."""
        if not self._is_released:
            self._is_released = True
            self.seconds = self._clock() - self.began
            self._slots.release_on_behalf_of(self)


def _model_writes(kit: AskKit, engine: EngineName | None) -> bool:
    """Whether a language model writes the answer. While it is away, answers are quoted, which is work for this
    process."""
    return (engine or kit.engine) != "extractive" and kit.model is not None and kit.model.is_available
