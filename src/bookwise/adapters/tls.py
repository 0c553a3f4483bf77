"""What connections to other services share: their certificates, and the time that a handshake may take."""

import ssl
from functools import cache

import httpx2

#: A handshake that times out by itself closes its socket; one that a deadline cancels leaves it open.
CONNECT_SECONDS = 3.0


@cache
def tls_context() -> ssl.SSLContext:
    """Loaded once: it takes 30 ms."""
    return httpx2.create_ssl_context()
