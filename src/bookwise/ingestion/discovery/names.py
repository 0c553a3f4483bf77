"""Names of files and folders → slugs, labels and natural sort keys."""

import hashlib
import re
import unicodedata

SLUG = r"[a-z0-9][a-z0-9-]{0,63}"

_NUMBER_PREFIX = re.compile(r"^([0-9]+)\s*[-_.]+\s*(.+)$", re.DOTALL)
_DATE_OR_VERSION = re.compile(r"^[0-9]+[-_.][0-9]+")
_DIGITS = re.compile(r"([0-9]+)")


def slug(text: str) -> str:
    """The text as an id of `a–z`, `0–9` and `-`; a hash when the text has no such character."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    result = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-")
    return result or "x" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def is_slug(text: str) -> bool:
    """Whether the text is an allowed id."""
    return re.fullmatch(SLUG, text) is not None


def number_prefix(name: str) -> tuple[int | None, str]:
    """`01-setup` → (1, "setup"). Dates and versions (`2021-08-21-x`, `8.0-x`) are not prefixes."""
    match = None if _DATE_OR_VERSION.match(name) else _NUMBER_PREFIX.match(name)
    return (int(match[1]), match[2]) if match else (None, name)


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """A sort key that puts `2-x` before `10-x` and ignores case."""
    parts = _DIGITS.split(name.casefold())
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts)), name


def label(name: str) -> str:
    """A readable name for a folder or file: `01-robot_arms` → `Robot arms`."""
    words = re.sub(r"[-_\s]+", " ", number_prefix(name)[1]).strip()
    return words[:1].upper() + words[1:]


def stem(name: str) -> str:
    """The last part of a path without its extension; empty for `.md`."""
    last = name.rpartition("/")[2]
    return last.rpartition(".")[0] if "." in last else last


def folder_of(name: str) -> str:
    """The folder with a trailing slash: `a/b/c.md` → `a/b/`; empty at the top."""
    head, slash, _ = name.rpartition("/")
    return head + slash


def one_line(value: object, limit: int = 300) -> str:
    """The value as a single printable line for titles and labels; empty when it is not a string."""
    if not isinstance(value, str):
        return ""
    printable = "".join(c if c.isprintable() else " " for c in value[: limit * 4])
    return " ".join(printable.split())[:limit].rstrip()
