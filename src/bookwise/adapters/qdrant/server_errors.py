"""What a call to the server raised → a reason to try again, or an error that names who can fix it."""

import re
import ssl
from dataclasses import dataclass

import httpx
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from bookwise.domain.errors import BookwiseError, IndexUnavailable, Misconfigured

RETRYABLE_STATUSES = frozenset({429, 502, 503, 504})

#: What the client raises. It has no common base; a response that is not JSON is a plain ValueError or AssertionError.
CLIENT_ERRORS = (ApiException, QdrantException, ValueError, AssertionError)

_TEXT_MAX = 300  #: characters of the server's own message


class NotCompleted(ApiException):
    """The server accepted a write without completing it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFailure:
    """Why an attempt failed, if a retry may succeed."""

    reason: str
    wait: float | None = None  #: seconds that the server requests before a retry


def classify(error: Exception, server: str) -> ServerFailure | BookwiseError:
    """`server` is the address for messages, without secrets."""
    if isinstance(error, ResourceExhaustedResponse):
        return ServerFailure(reason="returned HTTP 429", wait=float(error.retry_after_s))
    if isinstance(error, QdrantException):  # a Retry-After that is not a number
        return ServerFailure(reason="returned HTTP 429")
    if isinstance(error, NotCompleted):
        return ServerFailure(reason=str(error))
    if isinstance(error, UnexpectedResponse):
        return _classify_status(error, server)
    if isinstance(error, ResponseHandlingException):
        return _classify_exchange(error.source, server)
    return _not_qdrant(server)


def is_missing_collection(error: Exception) -> bool:
    return isinstance(error, UnexpectedResponse) and error.status_code == 404 and bool(_message(error))


def is_existing_collection(error: Exception) -> bool:
    return isinstance(error, UnexpectedResponse) and error.status_code == 409


def unavailable(server: str, reason: str) -> IndexUnavailable:
    """The error for a server that does not do its work now."""
    return IndexUnavailable(
        f"Qdrant at {server} {reason}.",
        advice="Try again later. If it happens again, check QDRANT_URL and the state of the server.",
    )


def _classify_exchange(source: Exception, server: str) -> ServerFailure | BookwiseError:
    """The connection failed, or a response has another form than the client expects."""
    if isinstance(source, ValueError):
        return _not_qdrant(server)
    if not isinstance(source, httpx.TimeoutException) and (tls := _tls_error(source)):
        return Misconfigured(
            f"The TLS connection to Qdrant at {server} failed: {tls.reason or type(tls).__name__}.",
            advice="Check that QDRANT_URL has the right scheme (http or https) and host name. "
            "If the server has a private certificate authority, set SSL_CERT_FILE to its certificate.",
        )
    return ServerFailure(reason=f"is unreachable ({type(source).__name__})")


def _tls_error(error: BaseException | None) -> ssl.SSLError | None:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _classify_status(error: UnexpectedResponse, server: str) -> ServerFailure | BookwiseError:
    status, message = error.status_code or 0, _message(error)
    if status in RETRYABLE_STATUSES:
        return ServerFailure(reason=f"returned HTTP {status}")
    if status == 401:
        return Misconfigured(
            f"Qdrant at {server} rejected the key in QDRANT_API_KEY, or requires one (HTTP 401).",
            advice="Set QDRANT_API_KEY to a valid key of this server.",
        )
    if status == 403:
        return Misconfigured(
            f"Qdrant at {server} does not allow this operation (HTTP 403){_quoted(message)}.",
            advice="Use a key with write access in QDRANT_API_KEY, and unlock the server if it is locked for writes.",
        )
    if status == 507:
        return IndexUnavailable(
            f"Qdrant at {server} has no space left, or its quota is used up (HTTP 507){_quoted(message)}.",
            advice="Enlarge the server or its quota, or remove books, then try again.",
        )
    if not message:
        return _not_qdrant(server, f"HTTP {status}")
    return _classify_message(status, message, server)


def _classify_message(status: int, message: str, server: str) -> BookwiseError:
    """The server understood the request and refused it."""
    if status == 404:
        return IndexUnavailable(
            f"The collection is missing on Qdrant at {server}{_quoted(message)}.",
            advice="Restart Bookwise, which creates the collection, and ingest the books again.",
        )
    if "dimension error" in message:
        return Misconfigured(
            f"The vectors do not fit the collection on Qdrant at {server}{_quoted(message)}.",
            advice="Set QDRANT_COLLECTION_NAME to a new name, or remove the collection, and ingest the books again.",
        )
    if status == 400 and (" Help: " in message or "Index required" in message):
        return Misconfigured(
            f"The strict mode of Qdrant at {server} refused the request{_quoted(message)}.",
            advice="Raise this limit in the strict mode of the collection.",
        )
    return IndexUnavailable(
        f"Qdrant at {server} rejected the request (HTTP {status}){_quoted(message)}.",
        advice="Check the log of the server. `bookwise doctor` compares the index with the books.",
    )


def _not_qdrant(server: str, detail: str = "no JSON of Qdrant") -> Misconfigured:
    return Misconfigured(
        f"The address {server} does not answer like a Qdrant server ({detail}).",
        advice="Check QDRANT_URL: it must be the address of Qdrant's HTTP interface, usually with port 6333.",
    )


def _message(error: UnexpectedResponse) -> str:
    """The server's own message on one line; empty if the response is not Qdrant's."""
    try:
        text = error.structured()["status"]["error"]
    except (ValueError, KeyError, TypeError):
        return ""
    return re.sub(r"\s+", " ", str(text)).strip()[:_TEXT_MAX]


def _quoted(message: str) -> str:
    return f": {message.rstrip('.')}" if message else ""
