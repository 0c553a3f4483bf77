"""API keys that no other process changes."""

from collections.abc import AsyncGenerator

import anyio


class NoKeyChanges:
    """Waits for ever: the only process that changes the keys needs no notice."""

    async def watch(self) -> AsyncGenerator[None]:
        await anyio.sleep_forever()
        yield
