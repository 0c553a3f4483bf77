"""Embeds texts by hashing their words, for unit tests only."""

import hashlib
import math
import re
from collections.abc import Sequence

from bookwise.domain.books import Calibration, EmbedderFacts, Vector

CALIBRATION = Calibration(knots=((0.0, 0.0), (1.0, 1.0)))


class HashingEmbedder:
    """For unit tests only: compares the words of two texts, not their meaning.

    Fast, exact and the same on every machine, so a test can predict the nearest text.
    """

    def __init__(self, size: int = 64) -> None:
        self.facts = EmbedderFacts(name="hashing", fingerprint=f"hashing:{size}:1", size=size, calibration=CALIBRATION)

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    def _vector(self, text: str) -> Vector:
        counts = [0] * self.facts.size
        for word in re.findall(r"\w+", text.casefold()) or [text]:  # a text without words still needs a vector
            counts[_bucket(word, self.facts.size)] += 1
        length = math.sqrt(sum(count * count for count in counts))
        return tuple(count / length for count in counts)


def _bucket(word: str, size: int) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % size
