"""The test embedder with a gate, for a job that has to be met while it runs."""

from collections.abc import Sequence

import anyio

from bookwise.adapters.embedders.hashing import HashingEmbedder
from bookwise.domain.books import EmbedderFacts, Vector


class GatedEmbedder:
    """The test embedder behind a gate: it embeds as many batches as it was told to, then waits."""

    def __init__(self) -> None:
        self._embedder = HashingEmbedder()
        self._gate = anyio.Semaphore(0)
        self.is_open = True
        self.broken = False
        self.calls = 0

    @property
    def facts(self) -> EmbedderFacts:
        return self._embedder.facts

    def let_pass(self, batches: int = 1) -> None:
        for _ in range(batches):
            self._gate.release()

    def open(self) -> None:
        """Lets everything pass, also what waits now."""
        self.is_open = True
        self.let_pass(100)

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += 1
        if self.broken:
            raise ZeroDivisionError
        if not self.is_open:
            await self._gate.acquire()
        return await self._embedder.embed_texts(texts)

    async def embed_query(self, text: str) -> Vector:
        return await self._embedder.embed_query(text)
