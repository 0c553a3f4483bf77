"""Keys and callers: who asks, what they may see, and how often they may ask."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

ApiRole: TypeAlias = Literal["reader", "admin"]

RATE_PER_MINUTE = 100
STREAMS_AT_ONCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """What is kept of a key; its secret is not among it."""

    id: str  #: public, for lists and logs
    name: str
    role: ApiRole
    books: tuple[str, ...] = ()  #: the only ones it may see; empty: all
    origins: tuple[str, ...] = ()  #: the only ones it works from, for a key that stands in a page; empty: any
    rate_per_minute: int = RATE_PER_MINUTE
    streams_at_once: int = STREAMS_AT_ONCE
    created_at: datetime
    revoked_at: datetime | None = None
    previous_until: datetime | None = None  #: until then the secret before the last rotation works too


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request. Threads, jobs and answers belong to the `owner`."""

    owner: str  #: the key's id; empty where the service is open on loopback
    role: ApiRole
    books: tuple[str, ...] = ()
    rate_per_minute: int = RATE_PER_MINUTE
    streams_at_once: int = STREAMS_AT_ONCE
    address: str = ""  #: where a key that stands in a page is used from: each of its readers has limits of their own

    def may_see(self, book_id: str) -> bool:
        return not self.books or book_id in self.books


ANYONE = Caller(owner="", role="admin", rate_per_minute=0, streams_at_once=0)
"""Whoever reaches a service without keys, which listens on loopback only; 0: without limit."""
