"""Turns what an API key may do into a secret that is shown once, and that secret back into the key."""

import re
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from sqlalchemy import Connection, Row, Update, insert, select, update

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import api_keys
from bookwise.domain.access import RATE_PER_MINUTE, ApiKey, ApiRole
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.ingestion.discovery.names import is_slug

NAME_MAX = 100
RATE_MAX = 100_000

_SECRET_BYTES = 32
_SECRET = re.compile(r"bw_[A-Za-z0-9_-]{43}")
_KEY_ID = re.compile(r"key_[0-9a-f]{12}")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_USUAL_PORTS = {"http": "80", "https": "443"}
_ROLES = ("reader", "admin")


def _now() -> datetime:
    return datetime.now(UTC)


class SqlKeys:
    """Keys in one table, read anew for every request, so that revoking one works at once."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def create(
        self,
        name: str,
        role: ApiRole,
        *,
        books: Sequence[str] = (),
        origins: Sequence[str] = (),
        rate_per_minute: int = RATE_PER_MINUTE,
    ) -> tuple[ApiKey, str]:
        secret = _new_secret()
        row = {
            "key_id": f"key_{secrets.token_hex(6)}",
            "name": _checked_name(name),
            "role": _checked_role(role),
            "books": list(dict.fromkeys(map(_checked_book, books))),
            "origins": list(dict.fromkeys(map(_checked_origin, origins))),
            "rate_per_minute": _checked_rate(rate_per_minute),
            "secret_hash": _hashed(secret),
            "created_at": self._clock(),
        }
        adding = insert(api_keys).values(row).returning(api_keys)
        return await self._database.write(lambda connection: _key_from(connection.execute(adding).one())), secret

    async def keys(self) -> list[ApiKey]:
        query = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
        return await self._database.read(lambda connection: list(map(_key_from, connection.execute(query))))

    async def key(self, secret: str) -> ApiKey | None:
        if not _SECRET.fullmatch(secret):
            return None
        return await self._database.read(_working_key, _hashed(secret))

    async def revoke(self, key_id: str) -> ApiKey:
        return await self._database.write(_revoke, key_id, self._clock())

    async def rotate(self, key_id: str) -> tuple[ApiKey, str]:
        secret = _new_secret()
        return await self._database.write(_rotate, key_id, _hashed(secret)), secret

    async def any_active(self) -> bool:
        query = select(api_keys.c.key_id).where(api_keys.c.revoked_at.is_(None)).limit(1)
        return await self._database.read(lambda connection: connection.execute(query).first() is not None)


def _working_key(connection: Connection, secret_hash: str) -> ApiKey | None:
    query = select(api_keys).where(api_keys.c.secret_hash == secret_hash)
    row = connection.execute(query).first()
    if row is None or not compare_digest(row.secret_hash, secret_hash) or row.revoked_at is not None:
        return None
    return _key_from(row)


def _revoke(connection: Connection, key_id: str, now: datetime) -> ApiKey:
    revoked = _changed(connection, key_id, update(api_keys).values(revoked_at=now))
    return revoked or _existing(connection, key_id)  # one that is revoked already stays as it is


def _rotate(connection: Connection, key_id: str, secret_hash: str) -> ApiKey:
    rotated = _changed(connection, key_id, update(api_keys).values(secret_hash=secret_hash))
    if rotated is None:
        key = _existing(connection, key_id)
        raise Conflict(f"The key {key.id} is revoked and stays so.", advice="Create a new key instead.")
    return rotated


def _changed(connection: Connection, key_id: str, change: Update) -> ApiKey | None:
    """The key after the change; None when no working key has this id."""
    if not _KEY_ID.fullmatch(key_id):
        return None
    working = change.where(api_keys.c.key_id == key_id, api_keys.c.revoked_at.is_(None))
    row = connection.execute(working.returning(api_keys)).first()
    return None if row is None else _key_from(row)


def _existing(connection: Connection, key_id: str) -> ApiKey:
    if _KEY_ID.fullmatch(key_id):
        row = connection.execute(select(api_keys).where(api_keys.c.key_id == key_id)).first()
        if row is not None:
            return _key_from(row)
    raise NotFound(f"There is no key {key_id!r}.", advice="`bookwise keys list` shows the keys and their ids.")


def _key_from(row: Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.key_id,
        name=row.name,
        role=row.role,
        books=tuple(row.books),
        origins=tuple(row.origins),
        rate_per_minute=row.rate_per_minute,
        created_at=row.created_at,
        revoked_at=row.revoked_at,
    )


def _new_secret() -> str:
    return f"bw_{secrets.token_urlsafe(_SECRET_BYTES)}"


def _hashed(secret: str) -> str:
    """A slow hash protects what people think up. Nobody guesses 256 random bits, however fast the hash, and every
    request pays for it. Finding a row by its hash tells a stranger nothing: they cannot choose the hash."""
    return sha256(secret.encode()).hexdigest()


def _checked_name(name: str) -> str:
    wanted = name.strip()
    if not 1 <= len(wanted) <= NAME_MAX or not wanted.isprintable():
        raise InvalidInput(
            f"The name of a key must have 1 to {NAME_MAX} printable characters.",
            advice="Name who or what will use the key, for example: course website.",
        )
    return wanted


def _checked_role(role: str) -> str:
    if role not in _ROLES:
        raise InvalidInput(f"There is no role {role!r}.", advice=f"Choose one of: {', '.join(_ROLES)}.")
    return role


def _checked_book(book_id: str) -> str:
    if not is_slug(book_id):
        raise InvalidInput(f"{book_id!r} is not the id of a book.", advice="`bookwise books` lists the ids.")
    return book_id


def _checked_origin(origin: str) -> str:
    """The origin as browsers send it: in lower case and without the port that goes without saying."""
    found = _ORIGIN.fullmatch(origin.strip().lower())
    if found is None or int(found[3] or 1) not in range(1, 2**16):
        raise InvalidInput(
            f"{origin!r} is not the origin of a web page.",
            advice="Write scheme, host and, where needed, port, without a path: https://book.example or "
            "http://localhost:3000.",
        )
    scheme, host, port = found.groups()
    return f"{scheme}://{host}" if port in (None, _USUAL_PORTS.get(scheme)) else f"{scheme}://{host}:{int(port)}"


def _checked_rate(rate: int) -> int:
    if not 1 <= rate <= RATE_MAX:
        raise InvalidInput(
            f"A key may ask 1 to {RATE_MAX:,} times a minute, not {rate:,} times.", advice="Choose another rate."
        )
    return rate
