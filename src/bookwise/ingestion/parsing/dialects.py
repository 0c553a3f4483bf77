"""Facts of a lesson file → the Markdown dialect it is written in."""

import re
from dataclasses import dataclass

from bookwise.domain.books import LessonFile

_MDBOOK_NAMES = "include|rustdoc_include|playground|playpen|title|template|quiz"
_MDBOOK_INCLUDE = rf"(?<!\\)\{{\{{\s*#(?:{_MDBOOK_NAMES})\b[^{{}}]*\}}\}}"
_MKDOCS_INCLUDE = r"^\s*(?:-+8<-+.*|\{\*.*\*\}|\{!.*!\})\s*$"
_MYST_MARK = r"^\([^()\s]+\)=\s*$|^\+\+\+(?:\s.*)?$"
_ATTRIBUTE_LINE = r"^\{:?\s*[.#][^{}]*\}\s*$"
_NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Which Markdown a lesson is written in."""

    jsx: bool = False
    directives: bool = False  #: a fence named `{note}` is a directive, not code
    included: re.Pattern[str] = _NOTHING  #: what includes other files, in text and in code
    dropped: re.Pattern[str] = _NOTHING  #: marks in text that readers do not see


def dialect_of(file: LessonFile) -> Dialect:
    """Docusaurus reads `.md` as MDX; a plain folder may hold any of the others."""
    match file.site:
        case "docusaurus":
            return Dialect(jsx=True)
        case "mdbook":
            return Dialect(included=re.compile(_MDBOOK_INCLUDE))
        case "mkdocs":
            return Dialect(included=re.compile(_MKDOCS_INCLUDE), dropped=re.compile(_ATTRIBUTE_LINE))
        case "jupyter-book" | "sphinx":
            return Dialect(directives=True, dropped=re.compile(f"{_MYST_MARK}|^%.*$"))
    return Dialect(
        jsx=file.format == "mdx",
        directives=True,
        included=re.compile(f"{_MDBOOK_INCLUDE}|{_MKDOCS_INCLUDE}"),
        dropped=re.compile(f"{_MYST_MARK}|{_ATTRIBUTE_LINE}"),
    )
