"""A database URL → an address that can be opened, with a name that does not contain the password."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from bookwise.domain.errors import Misconfigured

_SQLITE = ("sqlite", "sqlite+aiosqlite")
_POSTGRES = ("postgres", "postgresql", "postgresql+psycopg", "postgresql+asyncpg")
_NOT_LIBPQ = ("prepared_statement_cache_size", "statement_cache_size")  # options that only asyncpg knows
_HOST = r"(\[[^\[\],]+\]|[^:\[\],]*)(:\d+)?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")
_FORMS = "Use sqlite:///folder/file.db or postgresql://user:password@host:5432/name."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of a database. `name` is safe to show; `location` may contain a password."""

    kind: Literal["sqlite", "postgresql"]
    name: str
    location: str = field(repr=False)  #: absolute path of the SQLite file, or the URL for libpq
    secret: str = field(repr=False, default="")


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file; special characters in the path are quoted."""
    return f"sqlite:///{quote(str(path))}"


def parse_address(url: str) -> Address:
    """The address behind a URL; `Misconfigured` if Bookwise cannot open such a database."""
    scheme = url.partition("://")[0].lower()
    if scheme in _SQLITE:
        return _sqlite_address(url)
    if scheme in _POSTGRES:
        return _postgres_address(url)
    raise Misconfigured("The database URL is for neither SQLite nor PostgreSQL.", advice=_FORMS)


def _sqlite_address(url: str) -> Address:
    path = unquote(url.partition("://")[2].removeprefix("/").partition("?")[0])
    if path in ("", ":memory:") or path.startswith("file:"):
        raise Misconfigured("The database URL does not name a SQLite file.", advice=_FORMS)
    absolute = str(Path(path).expanduser().absolute())
    return Address(kind="sqlite", name=absolute, location=absolute)


def _postgres_address(url: str) -> Address:
    parts = _split(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query))
    return Address(
        kind="postgresql",
        name=_postgres_name(parts, unquote(hosts) or query.get("host", ""), query),
        location=_postgres_location(parts, query),
        secret=unquote(credentials.partition(":")[2]) or query.get("password", ""),
    )


def _split(url: str) -> SplitResult:
    """The parts of the URL; `Misconfigured` if an unquoted delimiter in the password splits it in the wrong place."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _invalid_url() from None  # the cause would show a part of the password
    credentials, _, hosts = parts.netloc.rpartition("@")
    has_stray_at = "@" in credentials or "@" in parts.path or ("@" in parts.query and not credentials)
    if has_stray_at or parts.fragment or not _HOSTS.fullmatch(hosts):
        raise _invalid_url()
    return parts


def _invalid_url() -> Misconfigured:
    return Misconfigured(
        "The database URL is not valid.",
        advice="In the user name and password, write @ : / ? # % as %40 %3A %2F %3F %23 %25.",
    )


def _postgres_name(parts: SplitResult, host: str, query: dict[str, str]) -> str:
    database = unquote(parts.path.lstrip("/")) or query.get("dbname", "") or "the default database"
    return f"PostgreSQL {database} at {host or 'the local socket'}"


def _postgres_location(parts: SplitResult, query: dict[str, str]) -> str:
    options = {name: value for name, value in query.items() if name not in _NOT_LIBPQ}
    if "ssl" in options:
        options["sslmode"] = options.pop("ssl")
    return f"postgresql://{parts.netloc}{parts.path}" + (f"?{urlencode(options)}" if options else "")
