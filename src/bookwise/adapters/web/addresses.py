"""Text → a URL that may be requested, or an error with the reason why not."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import httpx2

from bookwise.domain.errors import BadSource

Address = IPv4Address | IPv6Address

_MAX_URL_LENGTH = 2_048
_ADVICE = "Use the public http or https address of the site."

#: Allowed only with `allow_private`: this machine and private networks.
_PRIVATE = (
    ("this machine", ("127.0.0.0/8", "::1/128")),
    ("a private network", ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")),
)
#: Never allowed: no book is published there, but credentials of a cloud machine may be served there. Listed in full,
#: because the result of Python's `is_global` differs between releases.
_NEVER = (
    ("a cloud metadata service", ("168.63.129.16/32", "100.100.100.200/32", "fd00:ec2::/32")),
    ("a link-local address", ("169.254.0.0/16", "fe80::/10")),
    ("a multicast address", ("224.0.0.0/4", "ff00::/8")),
    (
        "a reserved address",
        (
            *("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
            *("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
        ),
    ),
)
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def site_url(text: str) -> httpx2.URL:
    """The URL in its only form: the one that is checked, resolved and requested. `BadSource` if it is not allowed."""
    excerpt = text if len(text) <= 100 else f"{text[:100]}…"
    if len(text) > _MAX_URL_LENGTH or "\\" in text or any(c.isspace() or not c.isprintable() for c in text):
        raise BadSource(f"{excerpt!r} is not the address of a site.", advice=_ADVICE)
    try:
        url = httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise BadSource(f"{excerpt!r} is not the address of a site: {error}", advice=_ADVICE) from error
    if url.scheme not in ("http", "https"):
        raise BadSource(f"{excerpt!r} does not begin with http:// or https://.", advice=_ADVICE)
    if "@" in re.split(r"[/?#]", text.partition("//")[2], maxsplit=1)[0]:
        raise BadSource("The address contains a user name or password.", advice="Remove the part before the @.")
    if url.port is not None and not 1 <= url.port <= 65_535:
        raise BadSource(f"{excerpt!r} has an invalid port.", advice=_ADVICE)
    _check_host(host_of(url))
    return url.copy_with(fragment=None)


def host_of(url: httpx2.URL) -> str:
    """The host as it is resolved: ASCII, lower case, without a trailing dot."""
    return url.raw_host.decode("ascii").lower().removesuffix(".")


def literal_address(host: str) -> Address | None:
    """The IP address if the host is one; None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def refusal(address: Address, *, allow_private: bool) -> str:
    """Why an address must not be contacted; empty when it may be."""
    address = _embedded_ipv4(address)
    for reason, networks in _NEVER + (() if allow_private else _PRIVATE):
        if any(address in _network(network) for network in networks):
            return reason
    permitted_private = allow_private and any(address in _network(n) for _, ns in _PRIVATE for n in ns)
    if isinstance(address, IPv6Address) and address not in _GLOBAL_IPV6 and not permitted_private:
        return "a reserved address"
    return ""


def _check_host(host: str) -> None:
    if literal_address(host) is not None and "%" not in host:
        return
    last = host.rpartition(".")[2]
    # Resolvers read 2130706433, 0x7f.1 and 127.1 as 127.0.0.1. No book is published at such an address.
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last):
        raise BadSource(f"The host {host!r} is an IP address in an unusual notation.", advice=_ADVICE)
    if not re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", host) or ".." in host:
        raise BadSource(f"{host!r} is not a valid host name.", advice=_ADVICE)


def _embedded_ipv4(address: Address) -> Address:
    """The IPv4 address that an IPv6 address maps to, if any; else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _network(text: str) -> IPv4Network | IPv6Network:
    return IPv6Network(text) if ":" in text else IPv4Network(text)
