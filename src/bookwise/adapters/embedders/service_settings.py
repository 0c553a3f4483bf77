"""Settings of an embedding service → the values that a request needs."""

import httpx2
from pydantic import SecretStr

from bookwise.domain.errors import Misconfigured


def service_url(text: str, setting: str) -> str:
    """The base URL without a trailing slash; `Misconfigured` if it is not a valid http or https address."""
    try:
        url = httpx2.URL(text.strip())
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    has_host = url.host and "%" not in url.host and (url.port is None or 1 <= url.port <= 65_535)
    if url.scheme not in ("http", "https") or not has_host or url.userinfo:
        raise Misconfigured(
            f"{setting} is not the address of a service.",
            advice=f"Set {setting} to an address such as https://host/v1, without user name or password.",
        )
    return str(url.copy_with(query=None, fragment=None)).rstrip("/")


def host_beside(url: str, official: str) -> str:
    """A suffix for the fingerprint, empty for the official service: elsewhere a model name may mean another model."""
    host = httpx2.URL(url).host
    return "" if host == httpx2.URL(official).host else f":{host}"


def service_key(key: SecretStr, setting: str) -> None:
    """`Misconfigured` for a key that is empty or not valid in a header. The message never contains the key."""
    value = key.get_secret_value()
    if not value:
        raise Misconfigured(f"{setting} is empty.", advice=f"Set {setting} to the key of the service.")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise Misconfigured(
            f"{setting} contains a space, a line break or a character that is not allowed in a key.",
            advice=f"Set {setting} to the key alone, without quotes or a line break.",
        )
