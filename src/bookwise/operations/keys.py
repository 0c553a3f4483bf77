"""API keys: create, list, revoke, rotate."""

from dataclasses import dataclass, field

from bookwise.domain.access import ApiKey, ApiRole
from bookwise.wiring import RecordsKit


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyWithSecret:
    """A key with its secret, which is not stored and cannot be shown again."""

    key: ApiKey
    secret: str = field(repr=False)
    absent: tuple[str, ...] = ()  #: books of the key that do not exist yet


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateKey:
    name: str
    role: ApiRole
    books: tuple[str, ...]
    origins: tuple[str, ...]
    rate_per_minute: int

    async def run(self, kit: RecordsKit) -> KeyWithSecret:
        key, secret = await kit.keys.create(
            self.name, self.role, books=self.books, origins=self.origins, rate_per_minute=self.rate_per_minute
        )
        existing = {book.id for book in await kit.catalog.books()}
        absent = tuple(book for book in key.books if book not in existing)
        return KeyWithSecret(key=key, secret=secret, absent=absent)


@dataclass(frozen=True, slots=True)
class ListKeys:
    async def run(self, kit: RecordsKit) -> list[ApiKey]:
        return await kit.keys.keys()


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeKey:
    key_id: str

    async def run(self, kit: RecordsKit) -> ApiKey:
        return await kit.keys.revoke(self.key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class RotateKey:
    key_id: str
    grace_seconds: int

    async def run(self, kit: RecordsKit) -> KeyWithSecret:
        key, secret = await kit.keys.rotate(self.key_id, grace_seconds=self.grace_seconds)
        return KeyWithSecret(key=key, secret=secret)
