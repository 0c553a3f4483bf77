"""The certificates that all connections to other services are checked against."""

import ssl
from functools import cache

import httpx2


@cache
def tls_context() -> ssl.SSLContext:
    """Loaded once: it takes 30 ms."""
    return httpx2.create_ssl_context()
