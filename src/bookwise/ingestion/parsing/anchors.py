"""Titles of headings → the URL fragments that the site generator gives them."""

import re
import unicodedata
from collections.abc import Callable, Iterable

from bookwise.domain.books import SiteKind

_MKDOCS_DROPPED = re.compile(r"[^\w\s-]")
_MKDOCS_GAP = re.compile(r"[-\s]+")
_MKDOCS_NUMBERED = re.compile(r"(.*)_([0-9]{1,9})", re.DOTALL)


class Slugger:
    """Assigns fragments to the headings of one lesson, in reading order."""

    def __init__(self, site: SiteKind, *, taken: Iterable[str] = ()) -> None:
        """`taken` are the explicit ids of the lesson; MkDocs does not use them for other headings."""
        self._site = site
        self._used: set[str] = set(taken) if site == "mkdocs" else set()
        self._repeats: dict[str, int] = {}

    def slug(self, title: str, explicit: str | None = None) -> str:
        """The fragment of the next heading; an explicit id is not changed."""
        fragment = explicit if explicit is not None else self._unique(_SLUGS.get(self._site, _github)(title))
        self._used.add(fragment)
        return fragment

    def _unique(self, slug: str) -> str:
        # Remembering the last number keeps a million equal headings cheap.
        base = slug if self._site != "sphinx" else ""
        count = self._repeats.get(base, 0)
        fragment = slug if count == 0 or self._site == "sphinx" else self._with_number(slug, count)
        while fragment in self._used or (not fragment and self._site in ("mkdocs", "sphinx")):
            count += 1
            fragment = self._with_number(slug, count)
        self._repeats[base] = count
        return fragment

    def _with_number(self, slug: str, count: int) -> str:
        if self._site == "sphinx":
            return f"id{count}"
        if self._site != "mkdocs":
            return f"{slug}-{count}"
        match = _MKDOCS_NUMBERED.fullmatch(slug)
        return f"{match[1]}_{int(match[2]) + count}" if match else f"{slug}_{count}"


def _github(title: str) -> str:
    characters = (c for c in title.lower() if c in "- _" or _is_word(c))
    return "".join(characters).replace(" ", "-")


def _is_word(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category in ("Nd", "Nl", "Pc")


def _mdbook(title: str) -> str:
    slug = []
    for character in title.strip():
        if character.isalnum() or character in "_-":
            slug.append(character.lower() if character.isascii() else character)
        elif character.isspace():
            slug.append("-")
    return "".join(slug)


def _mkdocs(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    return _MKDOCS_GAP.sub("-", _MKDOCS_DROPPED.sub("", plain).strip().lower())


def _sphinx(title: str) -> str:
    from docutils.nodes import make_id  # loads docutils: 40 ms, needed for Sphinx books only

    return make_id(title)


_SLUGS: dict[SiteKind, Callable[[str], str]] = {"mdbook": _mdbook, "mkdocs": _mkdocs, "sphinx": _sphinx}
