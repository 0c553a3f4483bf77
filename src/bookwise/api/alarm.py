"""Wakes all tasks that wait, any number of times."""

import anyio


class Alarm:
    """`rings` counts. A task that remembers the count before it acts misses no ring while it acts."""

    def __init__(self) -> None:
        self.rings = 0
        self._next = anyio.Event()

    def ring(self) -> None:
        self.rings += 1
        self._next.set()
        self._next = anyio.Event()

    async def wait(self, *, after: int) -> None:
        """Returns when the alarm has rung more than `after` times."""
        if self.rings <= after:
            await self._next.wait()
