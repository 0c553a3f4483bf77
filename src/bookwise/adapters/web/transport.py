"""Requests to a name into connections to the very address that was checked."""

import socket
from collections.abc import Awaitable, Callable, Sequence

import anyio
import httpx2

from bookwise.adapters.web.addresses import host_of, literal_address, refusal
from bookwise.domain.errors import BadSource, Unavailable

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def system_addresses(host: str, port: int) -> list[str]:
    """The addresses the machine's resolver knows for a host, best first."""
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise Unavailable(
            f"The host {host} cannot be found.", advice="Check the address and the network connection."
        ) from error
    return [str(sockaddr[0]) for *_, sockaddr in found]


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Resolves each host once, checks every address and connects to no other: a name that answers differently
    the second time (DNS rebinding) changes nothing. Certificates are still checked against the name."""

    def __init__(
        self, *, allow_private: bool, resolve: Resolve, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._allow_private = allow_private
        self._resolve = resolve
        self._inner = inner or httpx2.AsyncHTTPTransport()
        self._known: dict[str, tuple[str, ...]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        *spare, last = await self._addresses(request.url)
        for address in spare:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # a host with several addresses may be reachable by only one of them
        return await self._inner.handle_async_request(_pinned(request, last))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _addresses(self, url: httpx2.URL) -> tuple[str, ...]:
        host = host_of(url)
        if host not in self._known:
            literal = literal_address(host)
            found = [host] if literal else await self._resolve(host, url.port or _default_port(url))
            self._known[host] = self._checked(host, found)
        return self._known[host]

    def _checked(self, host: str, found: Sequence[str]) -> tuple[str, ...]:
        for text in found:
            address = literal_address(text)
            reason = refusal(address, allow_private=self._allow_private) if address else "no address at all"
            if reason:
                raise BadSource(
                    f"The host {host} is not allowed: {text} is {reason}.",
                    advice="Give a public site, or allow private ones in the settings if this one is meant.",
                )
        if not found:
            raise Unavailable(f"The host {host} has no address.", advice="Check the address of the site.")
        return tuple(dict.fromkeys(found))


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    extensions = dict(request.extensions)
    host = host_of(request.url)
    if literal_address(host) is None:
        extensions["sni_hostname"] = host
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,  # with the Host header of the name
        stream=request.stream,
        extensions=extensions,
    )


def _default_port(url: httpx2.URL) -> int:
    return 443 if url.scheme == "https" else 80
