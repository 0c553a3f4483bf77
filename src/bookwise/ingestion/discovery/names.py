"""Names of files and folders → slugs, labels, and keys that sort as people count."""

import hashlib
import re
import unicodedata

SLUG = r"[a-z0-9][a-z0-9-]{0,63}"

_NUMBER_PREFIX = re.compile(r"^([0-9]+)\s*[-_.]+\s*(.+)$", re.DOTALL)
_DATE_OR_VERSION = re.compile(r"^[0-9]+[-_.][0-9]+")
_DIGITS = re.compile(r"([0-9]+)")


def slug(text: str) -> str:
    """An id made of `a–z`, `0–9` and `-`; a name without any such letter gets one from its hash."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    made = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].strip("-")
    return made or "x" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]


def is_slug(text: str) -> bool:
    return re.fullmatch(SLUG, text) is not None


def number_prefix(name: str) -> tuple[int | None, str]:
    """`01-setup` → (1, "setup"). Dates and versions (`2021-08-21-x`, `8.0-x`) are not prefixes."""
    match = None if _DATE_OR_VERSION.match(name) else _NUMBER_PREFIX.match(name)
    return (int(match[1]), match[2]) if match else (None, name)


def natural_key(name: str) -> tuple[tuple[str | int, ...], str]:
    """Sorts `2-x` before `10-x`, and upper case beside lower case."""
    parts = _DIGITS.split(name.casefold())
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts)), name


def label(name: str) -> str:
    """`01-robot_arms` → `Robot arms`: what a reader would call a folder."""
    words = re.sub(r"[-_\s]+", " ", number_prefix(name)[1]).strip()
    return words[:1].upper() + words[1:]


def stem(name: str) -> str:
    """The last part of a path without its extension; `.md` has an empty one."""
    last = name.rpartition("/")[2]
    return last.rpartition(".")[0] if "." in last else last


def folder_of(name: str) -> str:
    """`a/b/c.md` → `a/b/`; empty at the top."""
    head, slash, _ = name.rpartition("/")
    return head + slash


def one_line(value: object, limit: int = 300) -> str:
    """Text of a book as a single clean line, for titles and labels; empty when it is not text."""
    if not isinstance(value, str):
        return ""
    shown = "".join(c if c.isprintable() else " " for c in value[: limit * 4])
    return " ".join(shown.split())[:limit].rstrip()
