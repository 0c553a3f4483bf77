"""Scores texts with a local cross-encoder of fastembed."""

import math
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from bookwise.adapters.fastembed_models import import_fastembed, load_model, require_model
from bookwise.adapters.rerankers.advice import ADVICE
from bookwise.domain.errors import RerankerUnavailable


class FastembedReranker:
    """`Reranker` in this process. The model is loaded at first use; a search that times out does not wait for it."""

    def __init__(self, model: str, *, cache: Path, model_dir: Path | None = None) -> None:
        self._type = import_fastembed().rerank.cross_encoder.TextCrossEncoder
        self._name = require_model(model, self._type.list_supported_models())["model"]
        self._cache, self._model_dir = cache, model_dir
        self._limiter = anyio.CapacityLimiter(1)

    @property
    def name(self) -> str:
        return f"The reranker {self._name}"

    @cached_property
    def _model(self) -> Any:
        return load_model(
            self._type, self._name, cache=self._cache, folder=self._model_dir, setting="BOOKWISE_RERANKER_DIR"
        )

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        work = partial(self._scores, question, list(texts))
        return await anyio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)

    def _scores(self, question: str, texts: list[str]) -> list[float]:
        # One text per run: the score of a text must not depend on the padding for others.
        scores = [float(score) for score in self._model.rerank(question, texts, batch_size=1)]
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise RerankerUnavailable(f"{self.name} returned invalid scores.", advice=ADVICE)
        return scores
