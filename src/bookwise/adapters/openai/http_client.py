"""A key and a URL → an OpenAI client with bounded responses, no redirects and no retries."""

from collections.abc import AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
from openai import AsyncOpenAI
from pydantic import SecretStr

from bookwise.adapters.tls import tls_context

CONNECT_SECONDS = 10.0
LINE_BYTES = 2**22  #: one chunk of an answer
ANSWER_BYTES = 2**25  #: a whole answer; its text is cut much earlier
LIMITS = httpx2.Limits(
    max_connections=None, max_keepalive_connections=100
)  #: readers are rate-limited, model calls are not
ERROR_BYTES = 2**16  #: enough to recognise the kind of error


class ResponseTooLarge(httpx2.RequestError):
    """The service sent more than the limit."""


def model_endpoint(key: SecretStr, url: str) -> AsyncOpenAI:
    """The client. The caller does retries and all timeouts except the connection's."""
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    # A cancelled handshake leaves its socket open; one that times out by itself does not.
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    http_client = httpx2.AsyncClient(
        verify=tls_context(),
        follow_redirects=False,  # send the question and the book to the configured URL only
        headers={"Accept-Encoding": "identity"},  # a small body could decompress to a huge one
        cookies=no_cookies,
        limits=LIMITS,
        event_hooks={"response": [_limit_size]},
    )
    return AsyncOpenAI(
        api_key=key.get_secret_value(), base_url=url, max_retries=0, timeout=timeout, http_client=http_client
    )


async def _limit_size(response: httpx2.Response) -> None:
    if response.is_success and response.headers.get("Content-Encoding", "identity") != "identity":
        raise ResponseTooLarge(
            "The response is compressed although the request did not allow it.", request=response.request
        )
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    stream_type = BoundedAnswer if response.is_success else BoundedError
    response.stream = stream_type(response.stream)


class BoundedAnswer(httpx2.AsyncByteStream):
    """Raises `ResponseTooLarge` when an answer, or one line of it, exceeds its limit."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        whole = line = 0
        async for part in self._inner:
            whole += len(part)
            line = len(part) - part.rindex(b"\n") if b"\n" in part else line + len(part)
            if whole > ANSWER_BYTES or line > LINE_BYTES:
                raise ResponseTooLarge("The answer exceeds its size limit.")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedError(BoundedAnswer):
    """Stops after the first part of an error body."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ERROR_BYTES
        async for part in self._inner:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                return
