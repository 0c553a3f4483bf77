"""Turns what drivers raise into what Bookwise raises, without URLs, passwords or parameters."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from bookwise.adapters.sql.address import Address
from bookwise.adapters.sql.column_types import UnreadableValue
from bookwise.domain.errors import (
    BookwiseError,
    DamagedData,
    DiskFull,
    InvalidInput,
    Misconfigured,
    StoreUnavailable,
)

# By the beginning of SQLite's error name or PostgreSQL's five-character state; the first that fits counts.
_FULL = ("SQLITE_FULL", "53100")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "40", "55P03", "57014")
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002")
_DAMAGED_WORDS = ("Could not decode", "no such table")
_REFUSED = ("28", "3D", "42501", "42704")
_TOO_LARGE = ("SQLITE_TOOBIG", "22003", "54")
_AWAY_SQLITE = ("SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_PROTOCOL")
_AWAY = (*_AWAY_SQLITE, "08", "25", "53", "57", "58")
_RETRY = ("40",)  # serialisation failure, deadlock

_RESTORE = "Nothing was changed. Put back a backup, or move the file away and ingest the books again."


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Raises the family a failure belongs to; an `IntegrityError` is left to whoever knows its sense."""
    try:
        yield
    except (exc.IntegrityError, BookwiseError):
        raise
    except (exc.SQLAlchemyError, OSError, OverflowError, UnreadableValue) as error:
        refused = getattr(error, "orig", None)
        if isinstance(refused, BookwiseError):  # by a column type, which SQLAlchemy wraps
            raise refused from None
        known = _translation(error, address)
        if known is None:
            raise
        raise known from error


def is_locked(error: exc.DBAPIError) -> bool:
    """Whether another connection holds what this one needs."""
    return _state(error).startswith(_BUSY)


def worth_another_try(error: exc.DBAPIError) -> bool:
    """Whether the database undid the transaction only because another one was in its way."""
    return _state(error).startswith(_RETRY)


def _translation(error: Exception, address: Address) -> BookwiseError | None:
    if isinstance(error, UnreadableValue):
        return damaged(address)
    if isinstance(error, OverflowError):
        return InvalidInput("A number is too large to be stored.", advice="Use a smaller one.")
    if isinstance(error, OSError | exc.TimeoutError):
        return _away(address, _reason(error, address))
    return _by_state(error, address)


def _by_state(error: Exception, address: Address) -> BookwiseError | None:
    state, reason = _state(error), _reason(error, address)
    if state.startswith(_FULL):
        return DiskFull(
            f"The disk is full: nothing more can be written to {address.name}.",
            advice="Free some space and try again; what was stored before is safe.",
        )
    if state.startswith(_BUSY):
        return StoreUnavailable(
            f"The database {address.name} is locked by other work for too long ({reason}).",
            advice="Try again when the other program is done.",
        )
    if state.startswith(_DAMAGED) or reason.startswith(_DAMAGED_WORDS):
        return damaged(address)
    if state.startswith("42P07") or reason.endswith(" already exists"):
        return Misconfigured(
            f"The database {address.name} holds tables of another program.",
            advice="Give Bookwise a database of its own in DATABASE_URL.",
        )
    if state.startswith(_REFUSED) or _is_wrong_url(error):
        return Misconfigured(
            f"{address.name} cannot be opened in this way: {reason}.",
            advice="Check user name, password, database name and options in DATABASE_URL.",
        )
    if state.startswith(_TOO_LARGE) or "value out of int" in reason:
        return InvalidInput("A value is too large to be stored.", advice="Shorten it.")
    return _away(address, reason) if state.startswith(_AWAY) or _lost(error) else None


def damaged(address: Address) -> DamagedData:
    """What to raise about a database whose content makes no sense."""
    return DamagedData(f"The database {address.name} is damaged and cannot be read.", advice=_RESTORE)


def _away(address: Address, reason: str) -> StoreUnavailable:
    where = "the folder exists and can be written to" if address.kind == "sqlite" else "the server is running"
    return StoreUnavailable(
        f"The database {address.name} does not answer: {reason}.",
        advice=f"Check that {where}, then try again.",
    )


def _is_wrong_url(error: Exception) -> bool:
    """The driver itself, not the server, refuses an option: it says so with a ValueError of its own."""
    return isinstance(error, exc.InterfaceError) and isinstance(getattr(error.orig, "__cause__", None), ValueError)


def _lost(error: Exception) -> bool:
    if isinstance(error, exc.OperationalError):
        return not _state(error)  # with a state that no table above names, the statement is wrong
    return isinstance(error, exc.InterfaceError) or (isinstance(error, exc.DBAPIError) and error.connection_invalidated)


def _state(error: Exception) -> str:
    cause = getattr(error, "orig", None)
    return getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""


def _reason(error: Exception, address: Address) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, exc.TimeoutError):
        return "all connections are in use"
    words = str(getattr(error, "orig", None) or error).partition("\n")[0].strip().rstrip(".")
    words = words or type(error).__name__
    return words.replace(address.secret, "***") if address.secret else words
