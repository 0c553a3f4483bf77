"""Turns a database URL into an address that can be opened, and named without its password."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from bookwise.domain.errors import Misconfigured

_SQLITE = ("sqlite", "sqlite+aiosqlite")
_POSTGRES = ("postgres", "postgresql", "postgresql+asyncpg")
# Known to libpq but not to asyncpg, which would send them to the server as settings of that name.
_LIBPQ_ONLY = ("channel_binding", "connect_timeout", "gssencmode", "prepared_statement_cache_size")
_HOST = r"(\[[^\[\],]+\]|[^:\[\],]*)(:\d+)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")
_FORMS = "Use sqlite:///folder/file.db or postgresql://user:password@host:5432/name."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a database is. `name` is safe to show; `location` may hold a password."""

    kind: Literal["sqlite", "postgresql"]
    name: str
    location: str = field(repr=False)  #: absolute path of the SQLite file, or what asyncpg connects to
    secret: str = field(repr=False, default="")


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file, whatever characters its path holds."""
    return f"sqlite:///{quote(str(path))}"


def parse_address(url: str) -> Address:
    """The address a URL stands for; `Misconfigured` when it is none that Bookwise can open."""
    scheme = url.partition("://")[0].lower()
    if scheme in _SQLITE:
        return _sqlite_address(url)
    if scheme in _POSTGRES:
        return _postgres_address(url)
    raise Misconfigured("The database URL is neither SQLite nor PostgreSQL.", advice=_FORMS)


def _sqlite_address(url: str) -> Address:
    path = unquote(url.partition("://")[2].removeprefix("/").partition("?")[0])
    if path in ("", ":memory:") or path.startswith("file:"):
        raise Misconfigured("The database URL names no SQLite file.", advice=_FORMS)
    absolute = str(Path(path).expanduser().absolute())
    return Address(kind="sqlite", name=absolute, location=absolute)


def _postgres_address(url: str) -> Address:
    parts = _split(url)
    who, _, hosts = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query))
    return Address(
        kind="postgresql",
        name=_postgres_name(parts, unquote(hosts) or query.get("host", ""), query),
        location=_postgres_location(parts, query),
        secret=unquote(who.partition(":")[2]) or query.get("password", ""),
    )


def _split(url: str) -> SplitResult:
    """The URL's parts; one whose password holds a raw delimiter falls into other parts than was meant."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _unreadable() from None  # the cause would quote a part of the password
    who, _, hosts = parts.netloc.rpartition("@")
    torn = "@" in who or "@" in parts.path or parts.fragment or ("@" in parts.query and not who)
    if torn or not _HOSTS.fullmatch(hosts):
        raise _unreadable()
    return parts


def _unreadable() -> Misconfigured:
    return Misconfigured(
        "The database URL cannot be read.",
        advice="Write @ : / ? # % inside the user name or password as %40 %3A %2F %3F %23 %25.",
    )


def _postgres_name(parts: SplitResult, host: str, query: dict[str, str]) -> str:
    database = unquote(parts.path.lstrip("/")) or query.get("dbname", "") or "the default database"
    return f"PostgreSQL {database} at {host or 'the local socket'}"


def _postgres_location(parts: SplitResult, query: dict[str, str]) -> str:
    options = {name: value for name, value in query.items() if name not in _LIBPQ_ONLY}
    if "ssl" in options:
        options["sslmode"] = options.pop("ssl")
    return parts._replace(scheme="postgresql", query=urlencode(options)).geturl()
