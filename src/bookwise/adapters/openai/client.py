"""Messages → the parts of a model's response. The only place with attempts, waits and timeouts."""

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import anyio
import httpx2
import openai
from openai import AsyncOpenAI, AsyncStream
from openai.types.chat import ChatCompletionChunk
from pydantic import SecretStr

from bookwise.adapters.backoff import backoff
from bookwise.adapters.embedders.service_settings import service_url
from bookwise.adapters.openai.breaker import Breaker, Outcome
from bookwise.adapters.openai.failures import (
    CUTS_OFF,
    REQUEST_PROBLEMS,
    RETRYABLE,
    Reason,
    RetryReason,
    retry_reason,
    unavailable,
)
from bookwise.adapters.openai.http_client import model_endpoint
from bookwise.adapters.openai.key import URL_SETTING, require_key
from bookwise.adapters.openai.response_parts import ResponsePart, ResponseReader
from bookwise.domain.errors import ModelUnavailable

ATTEMPTS = 3  #: for one call, including the first and a shortened one

logger = logging.getLogger(__name__)
logger.addHandler(logging.NullHandler())  # without a logging setup, the answer itself reports the problem

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelTimeouts:
    """How long to wait for a silent service, and the clock to use. A call's deadline ends every wait."""

    first_chunk: float = 30.0  #: seconds of one attempt
    next_chunk: float = 20.0
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    clock: Callable[[], float] = anyio.current_time


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to the model."""

    messages: Callable[[], Messages]  #: built when they are sent
    deadline: float  #: by the clock of `ModelTimeouts`
    shorter: Callable[[], Messages] | None = None  #: sent instead when the prompt is too long for the model
    attempts: int = ATTEMPTS
    options: Mapping[str, Any] = field(default_factory=dict)  #: temperature, max_tokens, tools


_SURROGATE = re.compile("[\ud800-\udfff]")


class ModelClient:
    """The client of one model. It does all retries: nothing below or above it tries again."""

    def __init__(
        self,
        api_key: SecretStr | str,
        *,
        base_url: str,
        model: str,
        timeouts: ModelTimeouts | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        self.model = model
        self.base_url = service_url(base_url, URL_SETTING)
        self.host = httpx2.URL(self.base_url).host
        self.timeouts = timeouts or ModelTimeouts()
        self._key = api_key if isinstance(api_key, SecretStr) else SecretStr(api_key)
        require_key(self._key, self.base_url)
        self._breaker = breaker or Breaker(self.timeouts.clock)
        self._endpoint: AsyncOpenAI | None = None
        self.latency_seconds: float | None = None

    @property
    def is_available(self) -> bool:
        return not self._breaker.is_open

    async def parts(self, call: ModelCall) -> AsyncGenerator[ResponsePart, None]:
        """The response part by part, to its end. Failures are raised as `ModelUnavailable`."""
        if call.deadline <= self.timeouts.clock():
            raise unavailable("timeout", self.host)
        era = self._breaker.admit()
        if era is None:
            raise unavailable("circuit-open", self.host)
        since = self.timeouts.clock()
        outcome: Outcome = "unknown"
        try:
            async with aclosing(self._attempts(call)) as parts:
                is_first = True
                async for part in parts:
                    if is_first:
                        self.latency_seconds, is_first = self.timeouts.clock() - since, False
                    yield part
            outcome = "succeeded"
        except ModelUnavailable as error:
            outcome = "unknown" if self._is_inconclusive(error, since) else "failed"
            raise
        finally:
            self._breaker.settle(era, outcome)

    def _is_inconclusive(self, error: ModelUnavailable, since: float) -> bool:
        """Whether the service may be healthy: the request or the caller's short deadline is the problem."""
        waited = self.timeouts.clock() - since
        was_short = waited < min(self.timeouts.first_chunk, self.timeouts.next_chunk)
        return error.reason in REQUEST_PROBLEMS or (error.reason == "timeout" and was_short)

    async def _attempts(self, call: ModelCall) -> AsyncGenerator[ResponsePart, None]:
        messages, shorter, attempt = call.messages, call.shorter, 0
        while True:
            attempt += 1
            began = False
            try:
                async with aclosing(self._attempt(messages, call)) as parts:
                    async for part in parts:
                        began = True
                        yield part
                return
            except RetryReason as error:
                failure = error
            if failure.reason == "context-overflow" and shorter and not began and attempt < call.attempts:
                messages, shorter = shorter, None
                continue
            if began:
                raise self.failed("cut-off" if failure.reason in CUTS_OFF else failure.reason, attempt)
            await self._wait(failure, call, attempt)

    async def _wait(self, failure: RetryReason, call: ModelCall, attempt: int) -> None:
        """Waits for the next attempt; raises `ModelUnavailable` when there is none."""
        wait = backoff(attempt) if failure.wait is None else failure.wait
        too_late = self.timeouts.clock() + wait >= call.deadline
        if failure.reason not in RETRYABLE or attempt >= call.attempts or too_late:
            raise self.failed(failure.reason, attempt)
        await self.timeouts.sleep(wait)

    async def _attempt(self, messages: Callable[[], Messages], call: ModelCall) -> AsyncGenerator[ResponsePart, None]:
        reader, pending = ResponseReader(), list[ResponsePart]()
        stream = await self._open(messages(), call)
        try:
            within = self.timeouts.first_chunk
            while not reader.stopped and (chunk := await self._next(stream, within, call)) is not None:
                within = self.timeouts.next_chunk
                pending.append(reader.part(chunk))
                while reader.began and pending:  # a retry must not repeat what came before the first word
                    yield pending.pop(0)
            reader.end()
        finally:
            await stream.close()

    async def _open(self, messages: Messages, call: ModelCall) -> AsyncStream[ChatCompletionChunk]:
        if self._endpoint is None:
            # Loads the machine's certificates, before the timeout starts.
            self._endpoint = model_endpoint(self._key, self.base_url)
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [sendable(message) for message in messages],
            "stream": True,
            "stream_options": {"include_usage": True},
            **call.options,
        }
        try:
            with anyio.fail_after(self._within(self.timeouts.first_chunk, call)):
                stream: AsyncStream[ChatCompletionChunk] = await self._endpoint.chat.completions.create(**request)
                return stream
        except (openai.OpenAIError, httpx2.RequestError, httpx2.InvalidURL, TimeoutError, ValueError) as error:
            raise retry_reason(error) from None

    async def _next(
        self, stream: AsyncStream[ChatCompletionChunk], within: float, call: ModelCall
    ) -> ChatCompletionChunk | None:
        try:
            with anyio.fail_after(self._within(within, call)):
                return await anext(stream)
        except StopAsyncIteration:
            return None
        except (
            openai.OpenAIError,
            httpx2.RequestError,
            httpx2.StreamError,
            TimeoutError,
            ValueError,
            RecursionError,
        ) as error:
            raise retry_reason(error) from None

    def _within(self, seconds: float, call: ModelCall) -> float:
        return max(0.0, min(seconds, call.deadline - self.timeouts.clock()))

    def failed(self, reason: Reason, attempts: int = 1) -> ModelUnavailable:
        """The error for this reason; it is also logged for the operator."""
        level = logging.ERROR if reason == "unauthorized" else logging.WARNING
        logger.log(level, "model.%s", reason, extra={"host": self.host, "model": self.model, "attempts": attempts})
        return unavailable(reason, self.host)

    async def aclose(self) -> None:
        """Closes the connections; the next call opens new ones."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            await endpoint.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()


def sendable(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message without unpaired surrogates, which cannot be sent as UTF-8."""
    content = message.get("content")
    if not isinstance(content, str) or not _SURROGATE.search(content):
        return dict(message)
    return {**message, "content": content.encode("utf-8", "replace").decode()}
