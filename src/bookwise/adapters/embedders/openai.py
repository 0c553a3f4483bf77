"""Embeds texts with OpenAI's embeddings endpoint, or any compatible service."""

from collections.abc import Sequence

from pydantic import SecretStr

from bookwise.adapters.embedders.service import EmbeddingEndpoint, EmbeddingService, EmbeddingTimeouts, ServiceEmbedder
from bookwise.adapters.embedders.service_settings import host_beside, service_url
from bookwise.adapters.openai.key import KEY_SETTING, OWN_URL, URL_SETTING, require_key
from bookwise.domain.books import Calibration, EmbedderFacts, Vector

MODEL = "text-embedding-3-small"
SIZES = {"text-embedding-3-large": 3072}
SIZE = 1536  #: of the other models

#: A token has at least one byte, so a text of this many bytes always fits the limit of 8,191 tokens.
TEXT_BYTES = 8_191
BATCH_TEXTS = 2_048
#: Half of the limit of 300,000 per request: code and formulas have about two bytes per token, not four.
BATCH_TOKENS = 150_000

#: Unrelated texts have a cosine below 0.2, good matches between 0.35 and 0.65.
CALIBRATION = Calibration(knots=((0.0, 0.0), (0.26, 0.1), (0.65, 0.6), (0.8, 0.75), (0.95, 0.85), (1.4, 1.0)))


class OpenAIEmbedder(ServiceEmbedder):
    """`Embedder` on OpenAI's service. Documents and queries are embedded the same way."""

    def __init__(
        self,
        key: SecretStr,
        *,
        base_url: str = OWN_URL,
        model: str = MODEL,
        size: int | None = None,
        timeouts: EmbeddingTimeouts | None = None,
    ) -> None:
        url = service_url(base_url, URL_SETTING)
        host = host_beside(url, OWN_URL)
        require_key(key, url)
        own_size = SIZES.get(model, SIZE)
        size = size or own_size
        self._model = model
        self._sizes = {"dimensions": size} if size != own_size else {}  # models with one size reject the field
        self.facts = EmbedderFacts(
            name=model, fingerprint=f"openai:{model}:{size}:1{host}", size=size, calibration=CALIBRATION
        )
        endpoint = EmbeddingEndpoint(
            name="The OpenAI embedding service",
            url=f"{url}/embeddings",
            key=key,
            key_setting=KEY_SETTING,
            url_setting=URL_SETTING,
            size=size,
            text_bytes=TEXT_BYTES,
            batch_texts=BATCH_TEXTS,
            batch_tokens=BATCH_TOKENS,
            rows=rows_by_index,
        )
        super().__init__(EmbeddingService(endpoint, timeouts or EmbeddingTimeouts()))

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        return await self._service.vectors(texts, self._payload)

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self.embed_texts([text])
        return vector

    def _payload(self, texts: Sequence[str]) -> dict[str, object]:
        return {"model": self._model, "input": list(texts), "encoding_format": "float", **self._sizes}


def rows_by_index(response: object) -> list[object]:
    """The vectors sorted by their `index`, because the service may return them in any order.

    `ValueError` if the response has no complete list.
    """
    if not isinstance(response, dict) or not isinstance(entries := response.get("data"), list):
        raise ValueError("no list of data")
    rows: dict[int, object] = {}
    for entry in entries:
        if not isinstance(entry, dict) or type(index := entry.get("index")) is not int or index in rows:
            raise ValueError("an entry without a unique index")
        rows[index] = entry.get("embedding")
    if sorted(rows) != list(range(len(rows))):
        raise ValueError("a gap between the indexes")
    return [rows[index] for index in range(len(rows))]
