"""Texts into vectors by OpenAI's embeddings endpoint, or by any service that speaks like it."""

from collections.abc import Sequence

from pydantic import SecretStr

from bookwise.adapters.embedders.service import EmbeddingService, EmbeddingTimeouts, ServiceEmbedder, Wire
from bookwise.adapters.embedders.service_settings import host_beside, service_url
from bookwise.adapters.openai.key import KEY_SETTING, OWN_URL, URL_SETTING, require_key
from bookwise.domain.books import Calibration, EmbedderFacts, Vector

MODEL = "text-embedding-3-small"
SIZE = 1536

#: A token of this model's tokenizer is at least one byte, so that many bytes always fit its 8,191 tokens.
TEXT_BYTES = 8_191
BATCH_TEXTS = 2_048
#: Half of the 300,000 a request may hold: code and formulas run at two bytes a token, not at four.
BATCH_TOKENS = 150_000

#: Unrelated texts stay under a cosine of 0.2, good matches lie between 0.35 and 0.65.
CALIBRATION = Calibration(knots=((0.0, 0.0), (0.26, 0.1), (0.65, 0.6), (0.8, 0.75), (0.95, 0.85), (1.4, 1.0)))


class OpenAIEmbedder(ServiceEmbedder):
    """Keeps the promises of `Embedder`; texts and questions are embedded alike."""

    def __init__(
        self,
        key: SecretStr,
        *,
        base_url: str = OWN_URL,
        model: str = MODEL,
        size: int = SIZE,
        patience: EmbeddingTimeouts | None = None,
    ) -> None:
        url = service_url(base_url, URL_SETTING)
        beside = host_beside(url, OWN_URL)
        require_key(key, url)
        self._model = model
        self.facts = EmbedderFacts(
            name=model, fingerprint=f"openai:{model}:{size}:1{beside}", size=size, calibration=CALIBRATION
        )
        wire = Wire(
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
        super().__init__(EmbeddingService(wire, patience or EmbeddingTimeouts()))

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        return await self._service.vectors(texts, self._payload)

    async def embed_query(self, text: str) -> Vector:
        [vector] = await self.embed_texts([text])
        return vector

    def _payload(self, texts: Sequence[str]) -> dict[str, object]:
        return {"model": self._model, "input": list(texts), "encoding_format": "float"}


def rows_by_index(answer: object) -> list[object]:
    """The vectors in the order of their `index`, which need not be the order they come in."""
    if not isinstance(answer, dict) or not isinstance(entries := answer.get("data"), list):
        raise ValueError("no list of data")
    rows: dict[int, object] = {}
    for entry in entries:
        if not isinstance(entry, dict) or type(index := entry.get("index")) is not int or index in rows:
            raise ValueError("an entry without an index of its own")
        rows[index] = entry.get("embedding")
    if sorted(rows) != list(range(len(rows))):
        raise ValueError("a gap between the indexes")
    return [rows[index] for index in range(len(rows))]
