"""Texts into unit vectors through an embedding service: batches, attempts, checks."""

import json
import random
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

from bookwise.adapters.embedders.service_vectors import VectorSource, unit_vectors
from bookwise.domain.books import Vector
from bookwise.domain.errors import BookwiseError, EmbedderUnavailable, Misconfigured

ATTEMPTS = 3  #: for one batch, the first one included
REQUESTS_AT_ONCE = 4
FIRST_WAIT = 0.5
LONGEST_WAIT = 8.0
BYTES_PER_TOKEN = 4  #: an average over English prose
BYTES_PER_NUMBER = 32  #: of one vector component as JSON, generously

WORTH_ANOTHER_ATTEMPT = frozenset({408, 425, 429})

Payload = Callable[[Sequence[str]], dict[str, object]]
Rows = Callable[[object], list[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingTimeouts:
    """How long a batch may take, and by which clock."""

    deadline: float = 60.0  #: seconds for one batch, all attempts and waits included
    answer_within: float = 30.0  #: seconds for one attempt
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """What tells one service from another."""

    name: str
    url: str
    key: SecretStr
    key_setting: str
    url_setting: str
    size: int  #: of a vector
    text_bytes: int  #: longer texts are cut
    batch_texts: int
    batch_tokens: int
    rows: Rows  #: an answer's JSON to its vectors in the order of the texts; `ValueError` without any


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingFailure:
    """Why an attempt failed that another one may mend."""

    what: str
    wait: float | None = None  #: seconds the service asked for


class EmbeddingService:
    """The one owner of attempts: nothing below it tries again, and nothing above it should."""

    def __init__(self, wire: Wire, patience: EmbeddingTimeouts) -> None:
        self._wire = wire
        self._patience = patience
        self._slots = anyio.Semaphore(REQUESTS_AT_ONCE)
        self._client: httpx2.AsyncClient | None = None

    async def vectors(self, texts: Sequence[str], payload: Payload) -> list[Vector]:
        """One unit vector per text, in order; nothing is sent for an empty list."""
        found: dict[int, list[Vector]] = {}
        failures: list[BookwiseError] = []

        async def embed(first: int, batch: list[str]) -> None:
            try:
                place = VectorSource(first=first, count=len(batch), total=len(texts))
                found[first] = await self._batch_vectors(batch, payload, place)
            except BookwiseError as error:
                failures.append(error)
                group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            for first, batch in self._batches(texts):
                group.start_soon(embed, first, batch)
        if failures:
            raise failures[0]
        return [vector for first in sorted(found) for vector in found[first]]

    async def aclose(self) -> None:
        """Closes the connections; the next call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _batches(self, texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        wire = self._wire
        sendable = [fitting(text, wire.text_bytes) for text in texts]
        return batches(sendable, most_texts=wire.batch_texts, most_tokens=wire.batch_tokens)

    async def _batch_vectors(self, texts: list[str], payload: Payload, place: VectorSource) -> list[Vector]:
        wire = self._wire
        content = json.dumps(payload(texts)).encode()
        most_bytes = len(texts) * wire.size * BYTES_PER_NUMBER + 2**20
        # Held between attempts too: a service that asks for rest gets it, and standing in line is free.
        async with self._slots:
            answer = await self._answer(content, most_bytes=most_bytes)
        return await anyio.to_thread.run_sync(self._checked, answer, place)

    def _checked(self, answer: bytes, place: VectorSource) -> list[Vector]:
        wire = self._wire
        try:
            rows = wire.rows(json.loads(answer))
        except (ValueError, RecursionError) as error:
            raise EmbedderUnavailable(
                f"{wire.name} did not answer with vectors.",
                advice=f"Check that {wire.url_setting} leads to an embedding service.",
            ) from error
        return unit_vectors(rows, size=wire.size, place=place, service=wire.name)

    async def _answer(self, content: bytes, *, most_bytes: int) -> bytes:
        patience, attempt = self._patience, 0
        ends = patience.clock() + patience.deadline
        while True:
            attempt += 1
            outcome = await self._attempt(content, most_bytes=most_bytes, left=ends - patience.clock())
            if isinstance(outcome, bytes):
                return outcome
            wait = backoff(attempt) if outcome.wait is None else outcome.wait
            if attempt == ATTEMPTS or patience.clock() + wait >= ends:
                raise self._gave_up(outcome, attempt)
            await patience.sleep(wait)

    async def _attempt(self, content: bytes, *, most_bytes: int, left: float) -> bytes | EmbeddingFailure:
        within = min(self._patience.answer_within, left)
        client = self._open()  # before the clock runs: it reads the machine's certificates
        try:
            with anyio.fail_after(within):
                return await self._exchange(client, content, most_bytes)
        except TimeoutError:
            return EmbeddingFailure(what=f"did not answer within {within:.3g} s")
        except httpx2.InvalidURL as error:
            # The client looks at every Location, also where it does not follow.
            raise refusal(302, self._wire) from error
        except httpx2.RequestError as error:
            return EmbeddingFailure(what=f"cannot be reached ({type(error).__name__})")

    async def _exchange(self, client: httpx2.AsyncClient, content: bytes, most_bytes: int) -> bytes | EmbeddingFailure:
        wire = self._wire
        headers = {
            "Authorization": f"Bearer {wire.key.get_secret_value()}",
            "Content-Type": "application/json",
        }
        async with client.stream("POST", wire.url, content=content, headers=headers) as response:
            status = response.status_code
            if status in WORTH_ANOTHER_ATTEMPT or status >= 500:
                return EmbeddingFailure(what=f"answered HTTP {status}", wait=retry_after(response.headers))
            if status != 200:
                raise refusal(status, wire)
            return await bounded_body(response, most_bytes, wire.name)

    def _open(self) -> httpx2.AsyncClient:
        if self._client is None:
            # An attempt is bounded as a whole; time-outs between two bytes would let an answer drip for ever.
            no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
            headers = {"User-Agent": "bookwise"}
            self._client = httpx2.AsyncClient(timeout=None, headers=headers, cookies=no_cookies)
        return self._client

    def _gave_up(self, trouble: EmbeddingFailure, attempts: int) -> EmbedderUnavailable:
        wire, asked = self._wire, ""
        if trouble.wait is not None and attempts < ATTEMPTS:
            asked = f" and asks to wait {trouble.wait:.0f} s, beyond the {self._patience.deadline:.0f} s allowed"
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        return EmbedderUnavailable(
            f"{wire.name} at {httpx2.URL(wire.url).host} {trouble.what}{asked}; gave up after {tries}.",
            advice=f"Try again later, or check {wire.url_setting} and the service's status.",
        )


class ServiceEmbedder:
    """Closes what an embedder that talks to a service has opened."""

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


def fitting(text: str, most_bytes: int) -> str:
    """The text as it can be sent: encodable, not empty, and cut between characters where it is too long."""
    encoded = text.encode("utf-8", "replace")
    return encoded[:most_bytes].decode("utf-8", "ignore") or " "


def batches(texts: Sequence[str], *, most_texts: int, most_tokens: int) -> Iterator[tuple[int, list[str]]]:
    """The texts in order, in groups a service takes at once, each with the number of its first text."""
    first, batch, tokens = 0, list[str](), 0
    for number, text in enumerate(texts):
        weight = len(text.encode()) // BYTES_PER_TOKEN + 1
        if batch and (len(batch) == most_texts or tokens + weight > most_tokens):
            yield first, batch
            first, batch, tokens = number, [], 0
        batch.append(text)
        tokens += weight
    if batch:
        yield first, batch


def backoff(attempt: int) -> float:
    """Seconds before the next attempt: twice as long each time, spread so that callers part."""
    longest: float = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds the service asks to wait; None when it does not say, or says nothing that makes sense."""
    asked = headers.get("Retry-After", "").strip()
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", asked):
        return float(asked)
    until = _http_date(asked)
    if until is None:
        return None
    # The service's own clock, where it tells it: ours may be wrong.
    now = _http_date(headers.get("Date", "")) or datetime.now(UTC)
    return max(0.0, (until - now).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, IndexError, OverflowError):
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def refusal(status: int, wire: Wire) -> BookwiseError:
    """The error for an answer that no further attempt can change; never with the key or the answer's text."""
    host = httpx2.URL(wire.url).host
    if status in (401, 403):
        return Misconfigured(
            f"{wire.name} at {host} does not accept the key in {wire.key_setting} (HTTP {status}).",
            advice=f"Set {wire.key_setting} to a valid key that may use embeddings.",
        )
    if status == 404:
        return Misconfigured(
            f"{wire.name} at {host} knows no such address or embedding model (HTTP 404).",
            advice=f"Check {wire.url_setting} and the name of the embedding model.",
        )
    return EmbedderUnavailable(
        f"{wire.name} at {host} refused the request (HTTP {status}).",
        advice=f"Check {wire.url_setting} and the name of the embedding model.",
    )


async def bounded_body(response: httpx2.Response, most_bytes: int, name: str) -> bytes:
    """The whole body, unless it is longer than any honest answer."""
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        if len(body) > most_bytes:
            raise EmbedderUnavailable(f"{name} sent more than {most_bytes:,} bytes for one batch of texts.")
    return bytes(body)
