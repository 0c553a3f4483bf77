"""Embeds texts with Cohere's embed endpoint, which treats documents and queries differently."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from pydantic import SecretStr

from bookwise.adapters.embedders.service import EmbeddingEndpoint, EmbeddingService, EmbeddingTimeouts, ServiceEmbedder
from bookwise.adapters.embedders.service_settings import host_beside, service_key, service_url
from bookwise.domain.books import Calibration, EmbedderFacts, Vector

BASE_URL = "https://api.cohere.com"
MODEL = "embed-english-v3.0"
SIZES = {
    "embed-english-light-v3.0": 384,
    "embed-multilingual-light-v3.0": 384,
    "embed-multilingual-v2.0": 768,
    "embed-english-v2.0": 4096,
    "embed-v4.0": 1536,
}
SIZE = 1024  #: of the other models
KEY_SETTING = "COHERE_API_KEY"
URL_SETTING = "BOOKWISE_COHERE_BASE_URL"

#: The service reads 512 tokens and ignores the rest. Truncating texts here saves sending that rest.
TEXT_BYTES = 16 * 512
BATCH_TEXTS = 96
BATCH_TOKENS = BATCH_TEXTS * TEXT_BYTES

#: Unrelated texts have a cosine below 0.3, good matches between 0.45 and 0.75.
CALIBRATION = Calibration(knots=((0.0, 0.0), (0.39, 0.1), (0.78, 0.6), (0.92, 0.75), (1.07, 0.85), (1.55, 1.0)))


class CohereEmbedder(ServiceEmbedder):
    """`Embedder` on Cohere's service."""

    def __init__(
        self,
        key: SecretStr,
        *,
        base_url: str = BASE_URL,
        model: str = MODEL,
        size: int | None = None,
        timeouts: EmbeddingTimeouts | None = None,
    ) -> None:
        url = service_url(base_url, URL_SETTING)
        service_key(key, KEY_SETTING)
        own_size = SIZES.get(model, SIZE)
        size = size or own_size
        self._model = model
        self._sizes = {"output_dimension": size} if size != own_size else {}  # models with one size reject the field
        self.facts = EmbedderFacts(
            name=model,
            fingerprint=f"cohere:{model}:{size}:1{host_beside(url, BASE_URL)}",
            size=size,
            calibration=CALIBRATION,
        )
        endpoint = EmbeddingEndpoint(
            name="The Cohere embedding service",
            url=f"{url}/v2/embed",
            key=key,
            key_setting=KEY_SETTING,
            url_setting=URL_SETTING,
            size=size,
            text_bytes=TEXT_BYTES,
            batch_texts=BATCH_TEXTS,
            batch_tokens=BATCH_TOKENS,
            rows=float_rows,
        )
        super().__init__(EmbeddingService(endpoint, timeouts or EmbeddingTimeouts()))

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        return await self._service.vectors(texts, partial(self._payload, "search_document"))

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self._service.vectors([text], partial(self._payload, "search_query"))
        return vector

    def _payload(self, purpose: Literal["search_document", "search_query"], texts: Sequence[str]) -> dict[str, object]:
        return {
            "model": self._model,
            "texts": list(texts),
            "input_type": purpose,
            "embedding_types": ["float"],
            "truncate": "END",
            **self._sizes,
        }


def float_rows(response: object) -> list[object]:
    """The vectors under `embeddings.float`, in the order of the texts; `ValueError` if there are none."""
    embeddings = response.get("embeddings") if isinstance(response, dict) else None
    rows = embeddings.get("float") if isinstance(embeddings, dict) else None
    if not isinstance(rows, list):
        raise ValueError("no list under embeddings.float")
    return rows
