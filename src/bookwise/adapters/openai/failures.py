"""What a model service did wrong into a reason, and whether another attempt may mend it."""

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

MENDABLE = frozenset({"unreachable", "timeout", "rate-limited", "server-error"})
#: After the first word these are one and the same to a reader.
BREAKS_OFF = MENDABLE - {"timeout"} | {"bad-response"}
#: The service works; what it was asked is the trouble.
NOT_THE_SERVICE = frozenset({"content-filter", "context-overflow"})

WHAT: dict[Reason, str] = {
    "unreachable": "cannot be reached",
    "timeout": "did not answer in time",
    "rate-limited": "takes no more requests for now",
    "server-error": "reports an error of its own",
    "unauthorized": "does not accept the key",
    "bad-response": "sent something that is no answer",
    "content-filter": "withheld its answer",
    "context-overflow": "cannot read that much at once",
    "cut-off": "broke off in the middle of its answer",
    "circuit-open": "failed several times in a row and is left alone for a while",
    "agent-loop-limit": "kept searching and never answered",
    "guardrail-input": "was not asked: the question is not one it may get",
    "guardrail-output": "wrote something that may not be shown",
}
ADVICE: dict[Reason, str] = {
    "unauthorized": "Set OPENAI_API_KEY to a valid key that may use the model.",
    "bad-response": "Check that OPENAI_BASE_URL leads to an OpenAI-compatible service that has OPENAI_MODEL.",
    "context-overflow": "Ask with a smaller top_k, or set OPENAI_MODEL to a model that reads more.",
    "agent-loop-limit": "Ask again, or use the engine `direct`.",
    "guardrail-input": "Ask a question about the book.",
    "guardrail-output": "Ask in other words.",
}
LATER = "Try again later, or check OPENAI_BASE_URL and the status of the service."

OVERFLOW = re.compile(
    r"context[_ -]?(length|window|size)|maximum context|too many (input )?tokens|prompt is too long|"
    r"reduce the length of the messages",
    re.IGNORECASE,
)


class RetryReason(Exception):
    """One attempt failed. Carries nothing the service said, so nothing of it can leak."""

    def __init__(self, reason: Reason, *, wait: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.wait = wait  #: seconds the service asked for


def unavailable(reason: Reason, host: str) -> ModelUnavailable:
    """The error a caller sees: never with the key or the service's own words."""
    return ModelUnavailable(reason, f"The language model at {host} {WHAT[reason]}.", advice=ADVICE.get(reason, LATER))


def retry_reason(error: Exception) -> RetryReason:
    """The trouble behind whatever the clients raised."""
    if isinstance(error, openai.APIStatusError):
        return _refused(error)
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException | TimeoutError):
        return RetryReason("timeout")
    if isinstance(error, ResponseTooLarge) or isinstance(error.__cause__, ResponseTooLarge):
        return RetryReason("bad-response")
    if isinstance(error, openai.APIConnectionError | httpx2.RequestError):
        return RetryReason("unreachable")
    if isinstance(error, openai.APIError):
        return _reported(error)
    return RetryReason("bad-response")


def _refused(error: openai.APIStatusError) -> RetryReason:
    status = error.status_code
    if status in (401, 403):
        return RetryReason("unauthorized")
    if status == 413 or (status in (400, 422) and _says_overflow(error)):
        return RetryReason("context-overflow")
    if status == 429:
        return RetryReason("rate-limited", wait=retry_after(error.response.headers))
    if status in (408, 425):
        return RetryReason("timeout")
    if status >= 500:
        return RetryReason("server-error", wait=retry_after(error.response.headers))
    return RetryReason("bad-response")


def _reported(error: openai.APIError) -> RetryReason:
    """An error sent in place of a chunk, where no status tells its kind."""
    if _says_overflow(error):
        return RetryReason("context-overflow")
    return RetryReason("rate-limited" if error.code == "429" else "server-error")


def _says_overflow(error: openai.APIError) -> bool:
    return any(OVERFLOW.search(text) for text in (error.code, error.type, error.message) if isinstance(text, str))
