"""A key and an address into a client that trusts no answer: bounded, never redirected, never tried again."""

from collections.abc import AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy

import httpx2
from openai import AsyncOpenAI
from pydantic import SecretStr

CONNECT_SECONDS = 10.0
LINE_BYTES = 2**22  #: one chunk of an answer
ANSWER_BYTES = 2**25  #: a whole answer; its text is cut long before
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=100)  #: who asks is limited, not the answering
ERROR_BYTES = 2**16  #: enough to see what kind of error it is


class ResponseTooLarge(httpx2.RequestError):
    """The service sent more than any honest answer holds."""


def model_endpoint(key: SecretStr, url: str) -> AsyncOpenAI:
    """The client; attempts, waits and all other time-outs belong to who uses it."""
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    # A handshake that is cancelled leaves its socket open; one that runs out of its own time does not.
    timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
    wire = httpx2.AsyncClient(
        follow_redirects=False,  # the question and the book go to the configured address and nowhere else
        headers={"Accept-Encoding": "identity"},  # a small body could unpack to a huge one
        cookies=no_cookies,
        limits=LIMITS,
        event_hooks={"response": [_bound]},
    )
    return AsyncOpenAI(api_key=key.get_secret_value(), base_url=url, max_retries=0, timeout=timeout, http_client=wire)


async def _bound(response: httpx2.Response) -> None:
    if response.is_success and response.headers.get("Content-Encoding", "identity") != "identity":
        raise ResponseTooLarge("An answer was packed although that was not asked for.", request=response.request)
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    bounded = BoundedAnswer if response.is_success else BoundedError
    response.stream = bounded(response.stream)


class BoundedAnswer(httpx2.AsyncByteStream):
    """Raises `ResponseTooLarge` where an answer, or one line of it, does not end."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        whole = line = 0
        async for part in self._inner:
            whole += len(part)
            line = len(part) - part.rindex(b"\n") if b"\n" in part else line + len(part)
            if whole > ANSWER_BYTES or line > LINE_BYTES:
                raise ResponseTooLarge("The answer does not end.")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


class BoundedError(BoundedAnswer):
    """Ends where the beginning of an error's body has told enough."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = ERROR_BYTES
        async for part in self._inner:
            yield part[:left]
            left -= len(part)
            if left <= 0:
                return
