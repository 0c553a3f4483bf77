"""What a setting says of an embedding service into what a request can use."""

import httpx2
from pydantic import SecretStr

from bookwise.domain.errors import Misconfigured


def service_url(text: str, setting: str) -> str:
    """The base URL without a trailing slash; `Misconfigured` when nothing can be sent there."""
    try:
        url = httpx2.URL(text.strip())
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    named = url.host and "%" not in url.host and (url.port is None or 1 <= url.port <= 65_535)
    if url.scheme not in ("http", "https") or not named or url.userinfo:
        raise Misconfigured(
            f"{setting} is not the address of a service.",
            advice=f"Set {setting} to an address such as https://host/v1, without user name or password.",
        )
    return str(url.copy_with(query=None, fragment=None)).rstrip("/")


def host_beside(url: str, official: str) -> str:
    """What a fingerprint adds where the service is not the official one: a model's name may mean another."""
    host = httpx2.URL(url).host
    return "" if host == httpx2.URL(official).host else f":{host}"


def service_key(key: SecretStr, setting: str) -> None:
    """`Misconfigured` for a key that is empty or cannot stand in a header; its value is never named."""
    value = key.get_secret_value()
    if not value:
        raise Misconfigured(f"{setting} is empty.", advice=f"Set {setting} to the key of the service.")
    if not value.isascii() or not value.isprintable() or " " in value:
        raise Misconfigured(
            f"{setting} holds a space, a line break or a character that no key has.",
            advice=f"Set {setting} to the bare key, without quotes or a newline at its end.",
        )
