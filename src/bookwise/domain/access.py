"""API keys and callers: their roles, books and limits."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

ApiRole: TypeAlias = Literal["reader", "admin"]

RATE_PER_MINUTE = 100
STREAMS_AT_ONCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key without its secret."""

    id: str  #: public, for lists and logs
    name: str
    role: ApiRole
    books: tuple[str, ...] = ()  #: the books it may access; empty: all
    origins: tuple[str, ...] = ()  #: the web origins it works from, for a key embedded in a page; empty: any
    rate_per_minute: int = RATE_PER_MINUTE
    streams_at_once: int = STREAMS_AT_ONCE
    created_at: datetime
    revoked_at: datetime | None = None
    previous_until: datetime | None = None  #: until then the previous secret works too


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The sender of a request. Threads, jobs and answers belong to the `owner`."""

    owner: str  #: the id of the key; empty for a service without keys
    role: ApiRole
    books: tuple[str, ...] = ()
    rate_per_minute: int = RATE_PER_MINUTE
    streams_at_once: int = STREAMS_AT_ONCE
    address: str = ""  #: client address, for a key embedded in a page: limits apply per address

    def may_see(self, book_id: str) -> bool:
        return not self.books or book_id in self.books


ANYONE = Caller(owner="", role="admin", rate_per_minute=0, streams_at_once=0)
"""The caller of a service without keys, which listens on loopback only. 0 means no limit."""
