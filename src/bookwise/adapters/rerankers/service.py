"""Scores texts with the rerank endpoint of Cohere, or of a service with the same format (Jina, vLLM, TEI, LocalAI)."""

import json
import math
from collections.abc import Sequence
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
from pydantic import SecretStr

from bookwise.adapters.embedders.service_settings import service_key, service_url
from bookwise.adapters.rerankers.advice import ADVICE
from bookwise.adapters.tls import CONNECT_SECONDS, tls_context
from bookwise.domain.errors import RerankerUnavailable

RESPONSE_BYTES_MAX = 2**20  #: far more than a score for each text


class ServiceReranker:
    """`Reranker` on an HTTP service. One attempt, no retry: a search does not wait for a second one."""

    def __init__(self, key: SecretStr, *, url: str, model: str, key_setting: str, url_setting: str) -> None:
        """`url`: the address up to, not including, `/rerank`."""
        service_key(key, key_setting)
        self._url = f"{service_url(url, url_setting)}/rerank"
        self._host = httpx2.URL(self._url).host
        self._model = model
        self._headers = {"Authorization": f"Bearer {key.get_secret_value()}", "User-Agent": "bookwise"}
        self._client: httpx2.AsyncClient | None = None

    @property
    def name(self) -> str:
        return f"The reranker {self._model} at {self._host}"

    async def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        if not texts:
            return []
        payload = {"model": self._model, "query": question, "documents": list(texts), "top_n": len(texts)}
        try:
            response = await self._post(payload)
            return scores_by_index(json.loads(response), len(texts))
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            raise RerankerUnavailable(f"{self.name} is unreachable ({type(error).__name__}).", advice=ADVICE) from error
        except (ValueError, RecursionError) as error:
            raise RerankerUnavailable(f"{self.name} returned an invalid response.", advice=ADVICE) from error

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _post(self, payload: dict[str, object]) -> bytes:
        if self._client is None:
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            self._client = httpx2.AsyncClient(
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                headers=self._headers,
                cookies=no_cookies,
                verify=tls_context(),
            )
        body = bytearray()
        async with self._client.stream("POST", self._url, json=payload) as response:
            if response.status_code != 200:
                raise RerankerUnavailable(f"{self.name} returned HTTP {response.status_code}.", advice=ADVICE)
            async for part in response.aiter_bytes():
                body += part
                if len(body) > RESPONSE_BYTES_MAX:
                    raise RerankerUnavailable(
                        f"{self.name} returned more than {RESPONSE_BYTES_MAX:,} bytes.", advice=ADVICE
                    )
        return bytes(body)


def scores_by_index(response: object, count: int) -> list[float]:
    """The scores in the order of the texts; `ValueError` unless each text has exactly one finite score."""
    results = response.get("results") if isinstance(response, dict) else None
    if not isinstance(results, list):
        raise ValueError("no list of results")
    scores: dict[int, float] = {}
    for entry in results:
        index = entry.get("index") if isinstance(entry, dict) else None
        if type(index) is not int or not 0 <= index < count or index in scores:
            raise ValueError("an entry without a unique index")
        scores[index] = _finite(entry.get("relevance_score"))
    if len(scores) != count:
        raise ValueError("a text without a score")
    return [scores[index] for index in range(count)]


def _finite(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise ValueError("a score that is not a finite number")
    return float(score)
