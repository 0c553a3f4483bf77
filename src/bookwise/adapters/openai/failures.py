"""A failure of a model service → a stable reason, and whether a retry may help."""

import re
from typing import Literal, TypeAlias

import httpx2
import openai

from bookwise.adapters.embedders.service import retry_after
from bookwise.adapters.openai.http_client import ResponseTooLarge
from bookwise.domain.errors import ModelUnavailable

Reason: TypeAlias = Literal[
    "unreachable",
    "timeout",
    "rate-limited",
    "server-error",
    "unauthorized",
    "bad-response",
    "content-filter",
    "context-overflow",
    "cut-off",
    "circuit-open",
    "agent-loop-limit",
    "guardrail-input",
    "guardrail-output",
]

RETRYABLE = frozenset({"unreachable", "timeout", "rate-limited", "server-error"})
#: After the first word, a reader sees all of these as an answer that was cut off.
CUTS_OFF = RETRYABLE - {"timeout"} | {"bad-response"}
#: The request is the problem; the service works.
REQUEST_PROBLEMS = frozenset({"content-filter", "context-overflow"})

DESCRIPTIONS: dict[Reason, str] = {
    "unreachable": "is unreachable",
    "timeout": "timed out",
    "rate-limited": "has reached its rate limit",
    "server-error": "reported an internal error",
    "unauthorized": "rejected the API key",
    "bad-response": "returned an invalid response",
    "content-filter": "blocked the answer with its content filter",
    "context-overflow": "cannot read a prompt this long",
    "cut-off": "stopped in the middle of its answer",
    "circuit-open": "failed several times in a row and is not called for a while",
    "agent-loop-limit": "kept searching without answering",
    "guardrail-input": "was not called: the question was blocked",
    "guardrail-output": "wrote an answer that was blocked",
}
ADVICE: dict[Reason, str] = {
    "unauthorized": "Set OPENAI_API_KEY to a valid key that may use the model.",
    "bad-response": "Check that OPENAI_BASE_URL is an OpenAI-compatible service that offers OPENAI_MODEL.",
    "context-overflow": "Use a smaller top_k, or set OPENAI_MODEL to a model with a larger context window.",
    "agent-loop-limit": "Ask again, or use the engine `direct`.",
    "guardrail-input": "Ask a question about the book.",
    "guardrail-output": "Rephrase the question.",
}
RETRY_ADVICE = "Try again later, or check OPENAI_BASE_URL and the status of the service."

OVERFLOW = re.compile(
    r"context[_ -]?(length|window|size)|maximum context|too many (input )?tokens|prompt is too long|"
    r"reduce the length of the messages",
    re.IGNORECASE,
)


class RetryReason(Exception):
    """One attempt failed. It carries no text of the service, so nothing can leak."""

    def __init__(self, reason: Reason, *, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait  #: seconds to wait, as requested by the service


def unavailable(reason: Reason, host: str) -> ModelUnavailable:
    """The error a caller sees. It never contains the key or text of the service."""
    return ModelUnavailable(
        reason, f"The language model at {host} {DESCRIPTIONS[reason]}.", advice=ADVICE.get(reason, RETRY_ADVICE)
    )


def retry_reason(error: Exception) -> RetryReason:
    """The reason behind an exception of the HTTP or OpenAI client."""
    if isinstance(error, openai.APIStatusError):
        return _status_reason(error)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException | TimeoutError):
        return RetryReason("timeout")
    if isinstance(error, ResponseTooLarge) or isinstance(error.__cause__, ResponseTooLarge):
        return RetryReason("bad-response")
    if isinstance(error, openai.APIConnectionError | httpx2.RequestError):
        return RetryReason("unreachable")
    if isinstance(error, openai.APIError):
        return _stream_reason(error)
    return RetryReason("bad-response")


def _status_reason(error: openai.APIStatusError) -> RetryReason:
    status = error.status_code
    if status in (401, 403):
        return RetryReason("unauthorized")
    if status == 413 or (status in (400, 422) and _is_overflow(error)):
        return RetryReason("context-overflow")
    if status == 429:
        return RetryReason("rate-limited", wait=retry_after(error.response.headers))
    if status in (408, 425):
        return RetryReason("timeout")
    if status >= 500:
        return RetryReason("server-error", wait=retry_after(error.response.headers))
    return RetryReason("bad-response")


def _stream_reason(error: openai.APIError) -> RetryReason:
    """The reason of an error sent instead of a chunk, without an HTTP status."""
    if _is_overflow(error):
        return RetryReason("context-overflow")
    return RetryReason("rate-limited" if error.code == "429" else "server-error")


def _is_overflow(error: openai.APIError) -> bool:
    return any(OVERFLOW.search(text) for text in (error.code, error.type, error.message) if isinstance(text, str))
