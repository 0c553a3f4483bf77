"""Requests to a host name → connections to exactly the address that was checked."""

import socket
from collections.abc import Awaitable, Callable, Sequence

import anyio
import httpx2

from bookwise.adapters.tls import tls_context
from bookwise.adapters.web.addresses import host_of, literal_address, refusal
from bookwise.domain.errors import BadSource, Unavailable

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def system_addresses(host: str, port: int) -> list[str]:
    """The addresses of a host from the system resolver, best first; `Unavailable` if there are none."""
    try:
        entries = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unavailable(
            f"The host {host} cannot be resolved.", advice="Check the address and the network connection."
        ) from error
    return [str(sockaddr[0]) for *_, sockaddr in entries]


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Resolves each host once, checks every address and connects only to those.

    A name that resolves differently the second time (DNS rebinding) has no effect. Certificates are still verified
    against the name.
    """

    def __init__(
        self, *, allow_private: bool, resolve: Resolve, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._inner = inner or httpx2.AsyncHTTPTransport(verify=tls_context())
        self._resolved: dict[str, tuple[str, ...]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        *others, last = await self._addresses(request.url)
        for address in others:
            try:
                return await self._inner.handle_async_request(_pin(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # a host with several addresses may be reachable at only one of them
        return await self._inner.handle_async_request(_pin(request, last))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _addresses(self, url: httpx2.URL) -> tuple[str, ...]:
        host = host_of(url)
        if host not in self._resolved:
            literal = literal_address(host)
            addresses = [host] if literal else await self._resolve(host, url.port or _default_port(url))
            self._resolved[host] = self._check(host, addresses)
        return self._resolved[host]

    def _check(self, host: str, addresses: Sequence[str]) -> tuple[str, ...]:
        for text in addresses:
            address = literal_address(text)
            reason = refusal(address, allow_private=self._allow_private) if address else "not an IP address"
            if reason:
                raise BadSource(
                    f"The host {host} is not allowed: {text} is {reason}.",
                    advice="Use a public site. To read this one anyway, set BOOKWISE_SITE_ALLOW_PRIVATE=true.",
                )
        if not addresses:
            raise Unavailable(f"The host {host} has no address.", advice="Check the address of the site.")
        return tuple(dict.fromkeys(addresses))


def _pin(request: httpx2.Request, address: str) -> httpx2.Request:
    extensions = dict(request.extensions)
    host = host_of(request.url)
    if literal_address(host) is None:
        extensions["sni_hostname"] = host
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,  # the Host header still has the name
        stream=request.stream,
        extensions=extensions,
    )


def _default_port(url: httpx2.URL) -> int:
    return 443 if url.scheme == "https" else 80
