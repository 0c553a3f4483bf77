"""Embeds texts with a local model of fastembed."""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from bookwise.adapters.embedders import minilm
from bookwise.adapters.embedders.service_vectors import unit_vector
from bookwise.adapters.fastembed_models import import_fastembed, load_model, require_model
from bookwise.domain.books import Calibration, EmbedderFacts, Vector
from bookwise.domain.errors import EmbedderUnavailable

#: BGE gives unrelated texts a cosine of 0.4 to 0.6. An estimate: `bookwise calibrate` fits the map to a book.
BGE_CALIBRATION = Calibration(
    knots=((0.0, 0.0), (0.6, 0.05), (0.75, 0.25), (0.95, 0.6), (1.1, 0.75), (1.25, 0.85), (2.2, 1.0))
)


class FastembedEmbedder:
    """Embeds one text per run, so that a vector never depends on other texts. The model is loaded at first use."""

    def __init__(self, model: str, *, cache: Path, model_dir: Path | None = None) -> None:
        self._type = import_fastembed().TextEmbedding
        known = require_model(model, self._type.list_supported_models())
        self._cache, self._model_dir = cache, model_dir
        self._limiter = anyio.CapacityLimiter(1)
        self.facts = EmbedderFacts(
            name=known["model"],
            fingerprint=f"fastembed:{known['model']}:{known['dim']}:1",
            size=known["dim"],
            calibration=BGE_CALIBRATION if "bge" in model.lower() else minilm.CALIBRATION,
            local=True,
        )

    @cached_property
    def _model(self) -> Any:
        return load_model(
            self._type, self.facts.name, cache=self._cache, folder=self._model_dir, setting="BOOKWISE_MODEL_DIR"
        )

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        work = partial(self._vectors, lambda: self._model.passage_embed(list(texts), batch_size=1), len(texts))
        return await anyio.to_thread.run_sync(work, limiter=self._limiter)

    async def embed_query(self, text: str) -> Vector:
        work = partial(self._vectors, lambda: self._model.query_embed(text), 1)
        [vector] = await anyio.to_thread.run_sync(work, limiter=self._limiter)
        return vector

    def _vectors(self, embed: Callable[[], Any], count: int) -> list[Vector]:
        if not count:
            return []
        try:
            return [unit_vector(array.tolist(), self.facts.size) for array in embed()]
        except ValueError as error:
            raise EmbedderUnavailable(
                f"{self.facts.name} returned a vector {error}.",
                advice="Check that BOOKWISE_MODEL_DIR contains the files of this model.",
            ) from error
