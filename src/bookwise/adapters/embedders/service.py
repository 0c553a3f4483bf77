"""Texts → unit vectors from an embedding service: batches, retries, validation."""

import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Self

import anyio
import anyio.to_thread
import httpx2
from pydantic import SecretStr

from bookwise.adapters.backoff import backoff
from bookwise.adapters.embedders.service_vectors import VectorSource, unit_vectors
from bookwise.adapters.tls import CONNECT_SECONDS, tls_context
from bookwise.domain.books import Vector
from bookwise.domain.errors import BookwiseError, EmbedderUnavailable, Misconfigured

ATTEMPTS = 3  #: per batch, including the first
MAX_CONCURRENT_REQUESTS = 4
BYTES_PER_TOKEN = 4  #: average for English prose
BYTES_PER_NUMBER = 32  #: upper estimate for one vector component in JSON

RETRYABLE_STATUSES = frozenset({408, 425, 429})

Payload = Callable[[Sequence[str]], dict[str, object]]
Rows = Callable[[object], list[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTimeouts:
    """How long a batch may take, and the clock that measures it."""

    deadline: float = 60.0  #: seconds per batch, including all attempts and waits
    attempt_seconds: float = 30.0  #: seconds per attempt
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingEndpoint:
    """The address, limits and response format of one service."""

    name: str
    url: str
    key: SecretStr
    key_setting: str
    url_setting: str
    size: int  #: numbers per vector
    text_bytes: int  #: longer texts are truncated
    batch_texts: int
    batch_tokens: int
    rows: Rows  #: response JSON → vectors in the order of the texts; `ValueError` if there are none


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingFailure:
    """Why an attempt failed, if a retry may succeed."""

    reason: str
    wait: float | None = None  #: seconds that the service requests before a retry


class EmbeddingService:
    """Sends batches and retries them. No other layer retries."""

    def __init__(self, endpoint: EmbeddingEndpoint, timeouts: EmbeddingTimeouts) -> None:
        self._endpoint = endpoint
        self._timeouts = timeouts
        self._slots = anyio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self._client: httpx2.AsyncClient | None = None

    async def vectors(self, texts: Sequence[str], payload: Payload) -> list[Vector]:
        """One unit vector per text, in order; nothing is sent for an empty list."""
        vectors: dict[int, list[Vector]] = {}
        failures: list[BookwiseError] = []

        async def embed(first: int, batch: list[str]) -> None:
            try:
                source = VectorSource(first=first, count=len(batch), total=len(texts))
                vectors[first] = await self._embed_batch(batch, payload, source)
            except BookwiseError as error:
                failures.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for first, batch in self._batches(texts):
                group.start_soon(embed, first, batch)
        if failures:
            raise failures[0]
        return [vector for first in sorted(vectors) for vector in vectors[first]]

    async def aclose(self) -> None:
        """Closes the connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        endpoint = self._endpoint
        sendable = [fit_text(text, endpoint.text_bytes) for text in texts]
        return batches(sendable, max_texts=endpoint.batch_texts, max_tokens=endpoint.batch_tokens)

    async def _embed_batch(self, texts: list[str], payload: Payload, source: VectorSource) -> list[Vector]:
        endpoint = self._endpoint
        content = json.dumps(payload(texts)).encode()
        max_bytes = len(texts) * endpoint.size * BYTES_PER_NUMBER + 2**20
        # The slot is kept between attempts: a service that asks to wait is left alone by other batches too.
        async with self._slots:
            response = await self._send(content, max_bytes=max_bytes)
        return await anyio.to_thread.run_sync(self._parse, response, source)

    def _parse(self, response: bytes, source: VectorSource) -> list[Vector]:
        endpoint = self._endpoint
        try:
            rows = endpoint.rows(json.loads(response))
        except (ValueError, RecursionError) as error:
            raise EmbedderUnavailable(
                f"{endpoint.name} returned an invalid response: no vectors.",
                advice=f"Check that {endpoint.url_setting} is the address of an embedding service.",
            ) from error
        return unit_vectors(rows, size=endpoint.size, source=source, service=endpoint.name)

    async def _send(self, content: bytes, *, max_bytes: int) -> bytes:
        timeouts, attempt = self._timeouts, 0
        deadline = timeouts.clock() + timeouts.deadline
        while True:
            attempt += 1
            outcome = await self._attempt(content, max_bytes=max_bytes, remaining=deadline - timeouts.clock())
            if isinstance(outcome, bytes):
                return outcome
            wait = backoff(attempt) if outcome.wait is None else outcome.wait
            if attempt == ATTEMPTS or timeouts.clock() + wait >= deadline:
                raise self._retry_error(outcome, attempt)
            await timeouts.sleep(wait)

    async def _attempt(self, content: bytes, *, max_bytes: int, remaining: float) -> bytes | EmbeddingFailure:
        timeout = min(self._timeouts.attempt_seconds, remaining)
        client = self._open()  # before the timeout starts: it reads the system certificates
        try:
            with anyio.fail_after(timeout):
                return await self._exchange(client, content, max_bytes)
        except TimeoutError:
            return EmbeddingFailure(reason=f"did not respond within {timeout:.3g} s")
        except httpx2.InvalidURL as error:
            # The client parses every Location header, even when it does not follow redirects.
            raise status_error(302, self._endpoint) from error
        except httpx2.RequestError as error:
            return EmbeddingFailure(reason=f"is unreachable ({type(error).__name__})")

    async def _exchange(self, client: httpx2.AsyncClient, content: bytes, max_bytes: int) -> bytes | EmbeddingFailure:
        endpoint = self._endpoint
        headers = {
            "Authorization": f"Bearer {endpoint.key.get_secret_value()}",
            "Content-Type": "application/json",
        }
        async with client.stream("POST", endpoint.url, content=content, headers=headers) as response:
            status = response.status_code
            if status in RETRYABLE_STATUSES or status >= 500:
                return EmbeddingFailure(reason=f"returned HTTP {status}", wait=retry_after(response.headers))
            if status != 200:
                raise status_error(status, endpoint)
            return await read_body(response, max_bytes, endpoint.name)

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            # Each attempt has one total timeout. A timeout between bytes would let a slow response continue forever.
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            headers = {"User-Agent": "bookwise"}
            self._client = httpx2.AsyncClient(
                timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
                headers=headers,
                cookies=no_cookies,
                verify=tls_context(),
            )
        return self._client

    def _retry_error(self, failure: EmbeddingFailure, attempts: int) -> EmbedderUnavailable:
        endpoint, wait = self._endpoint, ""
        if failure.wait is not None and attempts < ATTEMPTS:
            wait = f" and asks to wait {failure.wait:.0f} s, beyond the limit of {self._timeouts.deadline:.0f} s"
        count = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        return EmbedderUnavailable(
            f"{endpoint.name} at {httpx2.URL(endpoint.url).host} {failure.reason}{wait}. Stopped after {count}.",
            advice=f"Try again later. If it happens again, check {endpoint.url_setting} and the status of the service.",
        )


class ServiceEmbedder:
    """Base of embedders that use a service: closes its connections."""

    def __init__(self, service: EmbeddingService) -> None:
        self._service = service

    async def aclose(self) -> None:
        await self._service.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def fit_text(text: str, max_bytes: int) -> str:
    """The text as it is sent: encodable, not empty, and truncated between characters if it is too long."""
    encoded = text.encode("utf-8", "replace")
    return encoded[:max_bytes].decode("utf-8", "ignore") or " "


def batches(texts: Sequence[str], *, max_texts: int, max_tokens: int) -> Iterator[tuple[int, list[str]]]:
    """The texts in order, in groups within the limits of a request, each with the index of its first text."""
    first, batch, tokens = 0, list[str](), 0
    for number, text in enumerate(texts):
        estimate = len(text.encode()) // BYTES_PER_TOKEN + 1
        if batch and (len(batch) == max_texts or tokens + estimate > max_tokens):
            yield first, batch
            first, batch, tokens = number, [], 0
        batch.append(text)
        tokens += estimate
    if batch:
        yield first, batch


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds from the Retry-After header; None if it is absent or invalid."""
    value = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value):
        return float(value)
    until = _http_date(value)
    if until is None:
        return None
    # Relative to the clock of the service if it sends one: the local clock may be wrong.
    now = _http_date(headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else date.replace(tzinfo=UTC)


def status_error(status: int, endpoint: EmbeddingEndpoint) -> BookwiseError:
    """The error for a status that a retry cannot change. It never contains the key or the text of the response."""
    host = httpx2.URL(endpoint.url).host
    if status in (401, 403):
        return Misconfigured(
            f"{endpoint.name} at {host} rejected the key in {endpoint.key_setting} (HTTP {status}).",
            advice=f"Set {endpoint.key_setting} to a valid key with access to embeddings.",
        )
    if status == 404:
        return Misconfigured(
            f"{endpoint.name} at {host} has no such address or embedding model (HTTP 404).",
            advice=f"Check {endpoint.url_setting} and the name of the embedding model.",
        )
    return EmbedderUnavailable(
        f"{endpoint.name} at {host} rejected the request (HTTP {status}).",
        advice=f"Check {endpoint.url_setting} and the name of the embedding model.",
    )


async def read_body(response: httpx2.Response, max_bytes: int, name: str) -> bytes:
    """The whole body; `EmbedderUnavailable` if it is longer than any valid response."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > max_bytes:
            raise EmbedderUnavailable(
                f"{name} returned more than {max_bytes:,} bytes for one batch of texts.",
                advice="Check that the configured address is an embedding service.",
            )
    return bytes(body)
