"""API keys in SQL: a secret is shown once, and only its hash is stored."""

import re
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from sqlalchemy import Connection, Row, Update, insert, null, or_, select, update

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.tables import api_keys
from bookwise.domain.access import RATE_PER_MINUTE, ApiKey, ApiRole
from bookwise.domain.errors import Conflict, InvalidInput, NotFound
from bookwise.ingestion.discovery.names import is_slug

NAME_MAX = 100
RATE_MAX = 100_000
GRACE_MAX_DAYS = 90

_SECRET_BYTES = 32
_SECRET = re.compile(r"bw_[A-Za-z0-9_-]{43}")
_KEY_ID = re.compile(r"key_[0-9a-f]{12}")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.-]*)://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
_DEFAULT_PORTS = {"http": "80", "https": "443"}
_ROLES = ("reader", "admin")


def _now() -> datetime:
    return datetime.now(UTC)


class SqlKeys:
    """Keys in one table, read for every request, so that revoking a key takes effect immediately."""

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
            "name": _validate_name(name),
            "role": _validate_role(role),
            "books": list(dict.fromkeys(map(_validate_book, books))),
            "origins": list(dict.fromkeys(map(_validate_origin, origins))),
            "rate_per_minute": _validate_rate(rate_per_minute),
            "secret_hash": _hash(secret),
            "created_at": self._clock(),
        }
        insertion = insert(api_keys).values(row).returning(api_keys)
        return await self._database.write(lambda connection: _key_from(connection.execute(insertion).one())), secret

    async def keys(self) -> list[ApiKey]:
        query = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.key_id)
        return await self._database.read(lambda connection: list(map(_key_from, connection.execute(query))))

    async def key(self, secret: str) -> ApiKey | None:
        if not _SECRET.fullmatch(secret):
            return None
        return await self._database.read(_find_key, _hash(secret), self._clock())

    async def revoke(self, key_id: str) -> ApiKey:
        return await self._database.write(_revoke, key_id, self._clock())

    async def rotate(self, key_id: str, *, grace_seconds: float = 0) -> tuple[ApiKey, str]:
        secret, now = _new_secret(), self._clock()
        until = now + _validate_grace(grace_seconds) if grace_seconds else None
        return await self._database.write(_rotate, key_id, _hash(secret), until), secret

    async def any_ever(self) -> bool:
        query = select(api_keys.c.key_id).limit(1)  # a revoked key keeps its row
        return await self._database.read(lambda connection: connection.execute(query).first() is not None)


def _find_key(connection: Connection, secret_hash: str, now: datetime) -> ApiKey | None:
    has_hash = or_(api_keys.c.secret_hash == secret_hash, api_keys.c.previous_hash == secret_hash)
    row = connection.execute(select(api_keys).where(has_hash)).first()
    if row is None or row.revoked_at is not None:
        return None
    if compare_digest(row.secret_hash, secret_hash):
        return _key_from(row)
    in_grace = row.previous_until is not None and now < row.previous_until
    return _key_from(row) if in_grace and compare_digest(row.previous_hash, secret_hash) else None


def _revoke(connection: Connection, key_id: str, now: datetime) -> ApiKey:
    values = {"revoked_at": now, "previous_hash": None, "previous_until": None}
    key = _change_key(connection, key_id, update(api_keys).values(values))
    return key or _read_key(connection, key_id)  # a revoked key stays unchanged


def _rotate(connection: Connection, key_id: str, secret_hash: str, until: datetime | None) -> ApiKey:
    """Replaces the secret. The old one works until `until`; with None it stops working now."""
    previous = null() if until is None else api_keys.c.secret_hash
    values = {"secret_hash": secret_hash, "previous_hash": previous, "previous_until": until}
    rotation = _change_key(connection, key_id, update(api_keys).values(values))
    if rotation is None:
        key = _read_key(connection, key_id)
        raise Conflict(f"The key {key.id} is revoked and cannot be rotated.", advice="Create a new key.")
    return rotation


def _change_key(connection: Connection, key_id: str, change: Update) -> ApiKey | None:
    """The key after the change; None if no active key has this id."""
    if not _KEY_ID.fullmatch(key_id):
        return None
    statement = change.where(api_keys.c.key_id == key_id, api_keys.c.revoked_at.is_(None))
    row = connection.execute(statement.returning(api_keys)).first()
    return None if row is None else _key_from(row)


def _read_key(connection: Connection, key_id: str) -> ApiKey:
    if _KEY_ID.fullmatch(key_id):
        row = connection.execute(select(api_keys).where(api_keys.c.key_id == key_id)).first()
        if row is not None:
            return _key_from(row)
    raise NotFound(f"There is no key {key_id!r}.", advice="Run `bookwise keys list` to see the keys and their ids.")


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
        previous_until=row.previous_until,
    )


def _new_secret() -> str:
    return f"bw_{secrets.token_urlsafe(_SECRET_BYTES)}"


def _hash(secret: str) -> str:
    """SHA-256 in hex.

    A slow hash is for passwords. A secret has 256 random bits, which cannot be guessed even with a fast hash, and every
    request computes it. Looking a row up by its hash leaks nothing by its timing: an attacker cannot choose the hash.
    """
    return sha256(secret.encode()).hexdigest()


def _validate_name(name: str) -> str:
    stripped = name.strip()
    if not 1 <= len(stripped) <= NAME_MAX or not stripped.isprintable():
        raise InvalidInput(
            f"The name of a key must have 1 to {NAME_MAX} printable characters.",
            advice="Name the user or program that will use the key, for example: course website.",
        )
    return stripped


def _validate_role(role: str) -> str:
    if role not in _ROLES:
        raise InvalidInput(f"There is no role {role!r}.", advice=f"Use one of: {', '.join(_ROLES)}.")
    return role


def _validate_book(book_id: str) -> str:
    if not is_slug(book_id):
        raise InvalidInput(f"{book_id!r} is not the id of a book.", advice="Run `bookwise books` to see the ids.")
    return book_id


def _validate_origin(origin: str) -> str:
    """The origin as browsers send it: in lower case and without the default port."""
    match = _ORIGIN.fullmatch(origin.strip().lower())
    if match is None or int(match[3] or 1) not in range(1, 2**16):
        raise InvalidInput(
            f"{origin!r} is not the origin of a web page.",
            advice="Use scheme, host and, if needed, port, without a path: https://book.example or "
            "http://localhost:3000.",
        )
    scheme, host, port = match.groups()
    return f"{scheme}://{host}" if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{scheme}://{host}:{int(port)}"


def _validate_rate(rate: int) -> int:
    if not 1 <= rate <= RATE_MAX:
        raise InvalidInput(
            f"A rate limit of {rate:,} requests per minute is not allowed.",
            advice=f"Use a rate from 1 to {RATE_MAX:,}.",
        )
    return rate


def _validate_grace(seconds: float) -> timedelta:
    if not 0 < seconds <= GRACE_MAX_DAYS * 24 * 3600:
        raise InvalidInput(
            f"The grace period is negative or longer than {GRACE_MAX_DAYS} days.",
            advice=f"Use a grace period of up to {GRACE_MAX_DAYS} days.",
        )
    return timedelta(seconds=seconds)
