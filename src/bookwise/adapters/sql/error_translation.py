"""Driver exceptions → Bookwise errors, without URLs, passwords or parameters."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import exc

from bookwise.adapters.disk_space import free_bytes
from bookwise.adapters.sql.address import Address
from bookwise.adapters.sql.column_types import UnreadableValue
from bookwise.domain.errors import (
    BookwiseError,
    DamagedData,
    InvalidInput,
    Misconfigured,
    StoreUnavailable,
)
from bookwise.domain.system_errors import disk_full, system_error

# Prefixes of the SQLite error name or the five-character PostgreSQL state; the first match decides.
_FULL = ("SQLITE_FULL", "53100")
_BUSY = ("SQLITE_BUSY", "SQLITE_LOCKED", "40", "55P03")
_SLOW = ("57014",)
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "XX001", "XX002", "42P01")  # 42P01: no such table
_DAMAGED_MESSAGES = ("Could not decode", "no such table")
_REJECTED = ("28", "3D", "42501", "42704")
_TOO_LARGE = ("SQLITE_TOOBIG", "22003", "54")
_SYSTEM = ("SQLITE_CANTOPEN", "SQLITE_IOERR")  # SQLite does not say what the operating system reported
_SPACE_MIN = 1024 * 1024  #: with less, SQLite may fail to create or enlarge a file
_UNREACHABLE_SQLITE = ("SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_PERM", "SQLITE_PROTOCOL")
_UNREACHABLE = (*_UNREACHABLE_SQLITE, "08", "25", "53", "57", "58")
_RETRY = ("40",)  # serialisation failure, deadlock
# For a connection that is refused, the driver has no state, only a text. Some refusals end without intervention.
_REFUSED = re.compile("FATAL:|connection is bad: invalid ")
_REFUSED_FOR_NOW = re.compile(
    "starting up|shutting down|recovery|too many|connection slots|no more connections|timeout|login|administrator"
)

_RESTORE = "Nothing was changed. Restore a backup, or move the file away and ingest the books again."


@contextmanager
def database_errors(address: Address) -> Iterator[None]:
    """Raises the matching Bookwise error. `IntegrityError` passes through: the caller knows what it means."""
    try:
        yield
    except (exc.IntegrityError, BookwiseError):
        raise
    except (exc.SQLAlchemyError, OSError, OverflowError, UnreadableValue) as error:
        original = getattr(error, "orig", None)
        if isinstance(original, BookwiseError):  # raised by a column type and wrapped by SQLAlchemy
            raise original from None
        translation = _translate(error, address)
        if translation is None:
            raise
        raise translation from error


def is_locked(error: exc.DBAPIError) -> bool:
    """Whether another connection holds a lock that this one needs."""
    return _state(error).startswith(_BUSY)


def is_retryable(error: exc.DBAPIError) -> bool:
    """Whether the transaction was rolled back only because of a conflict with another one."""
    return _state(error).startswith(_RETRY)


def _translate(error: Exception, address: Address) -> BookwiseError | None:
    if isinstance(error, UnreadableValue):
        return damage_error(address)
    if isinstance(error, OverflowError):
        return InvalidInput("A number is too large to be stored.", advice="Use a smaller number.")
    if isinstance(error, TimeoutError):
        return _slow_error(address)
    if isinstance(error, OSError) and address.kind == "sqlite" and (reported := system_error(error, address.name)):
        return reported
    if isinstance(error, OSError | exc.TimeoutError):
        return _unreachable_error(address, _error_text(error, address))
    return _translate_state(error, address)


def _translate_state(error: Exception, address: Address) -> BookwiseError | None:
    state, reason = _state(error), _error_text(error, address)
    if state.startswith(_FULL):
        return disk_full(f"The disk is full: {address.name} cannot be written.")
    if state.startswith(_BUSY):
        return StoreUnavailable(
            f"The database {address.name} stayed locked by another process for too long ({reason}).",
            advice="Wait until the other process has finished, then try again.",
        )
    if state.startswith(_SLOW):
        return _slow_error(address)
    if state.startswith(_DAMAGED) or reason.startswith(_DAMAGED_MESSAGES):
        return damage_error(address)
    if state.startswith("42P07") or reason.endswith(" already exists"):
        return Misconfigured(
            f"The database {address.name} contains tables of another program.",
            advice="Set DATABASE_URL to a separate database for Bookwise.",
        )
    if state.startswith(_REJECTED) or _is_rejected(error):
        return Misconfigured(
            f"The database {address.name} rejected the connection: {reason}.",
            advice="Check user name, password, database name and options in DATABASE_URL.",
        )
    if state.startswith(_TOO_LARGE) or "value out of int" in reason:
        return InvalidInput("A value is too large to be stored.", advice="Shorten it.")
    if state.startswith(_SYSTEM) and (reported := _system_cause(state, address)):
        return reported
    is_unreachable = state.startswith(_UNREACHABLE) or _is_connection_lost(error)
    return _unreachable_error(address, reason) if is_unreachable else None


def _system_cause(state: str, address: Address) -> BookwiseError | None:
    """Why the operating system refused SQLite a file, found by asking for the same again."""
    folder = Path(address.location).parent
    if folder.exists() and free_bytes(folder) < _SPACE_MIN:
        return disk_full(f"The disk is full: {address.name} cannot be written.")
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return system_error(error, address.name)
    failed = state.startswith("SQLITE_IOERR")
    return system_error(OSError(errno.EIO, os.strerror(errno.EIO)), address.name) if failed else None


def damage_error(address: Address) -> DamagedData:
    """The error for a database with invalid content."""
    return DamagedData(f"The database {address.name} is damaged and cannot be read.", advice=_RESTORE)


def _unreachable_error(address: Address, reason: str) -> StoreUnavailable:
    condition = "the folder exists and can be written to" if address.kind == "sqlite" else "the server is running"
    return StoreUnavailable(
        f"The database {address.name} is unreachable: {reason}.",
        advice=f"Check that {condition}, then try again.",
    )


def _slow_error(address: Address) -> StoreUnavailable:
    return StoreUnavailable(
        f"The database {address.name} did not respond in time.",
        advice="Try again later. If this happens often, check the load of the database server.",
    )


def _is_rejected(error: Exception) -> bool:
    """Whether the driver rejected the URL, or the server the user, the password, the database or an option."""
    if _state(error) or not isinstance(error, exc.ProgrammingError | exc.OperationalError):
        return False
    text = str(error.orig)
    is_refused = isinstance(error, exc.ProgrammingError) or _REFUSED.search(text) is not None
    return is_refused and not _REFUSED_FOR_NOW.search(text)


def _is_connection_lost(error: Exception) -> bool:
    if isinstance(error, exc.OperationalError):
        return not _state(error)  # a state that is in no list above means that the statement is wrong
    return isinstance(error, exc.InterfaceError) or (isinstance(error, exc.DBAPIError) and error.connection_invalidated)


def _state(error: Exception) -> str:
    cause = getattr(error, "orig", None)
    return getattr(cause, "sqlite_errorname", None) or getattr(cause, "sqlstate", None) or ""


def _error_text(error: Exception, address: Address) -> str:
    if isinstance(error, exc.TimeoutError):
        return "all connections are in use"
    text = str(getattr(error, "orig", None) or error).partition("\n")[0].strip().rstrip(".")
    text = text or type(error).__name__
    return text.replace(address.secret, "***") if address.secret else text
