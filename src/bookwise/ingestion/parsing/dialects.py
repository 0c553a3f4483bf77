"""Lesson file → the Markdown dialect it is written in."""

import re
from dataclasses import dataclass

from bookwise.domain.books import LessonFile

_MDBOOK_NAMES = "include|rustdoc_include|playground|playpen|title|template|quiz"
_MDBOOK_INCLUDE = rf"(?<!\\)\{{\{{\s*#(?:{_MDBOOK_NAMES})\b[^{{}}]*\}}\}}"
_MKDOCS_INCLUDE = r"^\s*(?:-+8<-+.*|\{\*.*\*\}|\{!.*!\})\s*$"
_MYST_MARK = r"^\([^()\s]+\)=\s*$|^\+\+\+(?:\s.*)?$"
_ATTRIBUTE_LINE = r"^\{:?\s*[.#][^{}]*\}\s*$"
_NO_MATCH = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The Markdown extensions that a lesson uses."""

    jsx: bool = False
    directives: bool = False  #: a fence named `{note}` is a directive, not code
    includes: re.Pattern[str] = _NO_MATCH  #: matches include statements, in text and in code
    invisible: re.Pattern[str] = _NO_MATCH  #: matches marks in text that readers do not see


def dialect_of(file: LessonFile) -> Dialect:
    """The dialect of the lesson's site. Docusaurus reads `.md` as MDX; a plain folder may use any other dialect."""
    match file.site:
        case "docusaurus":
            return Dialect(jsx=True)
        case "mdbook":
            return Dialect(includes=re.compile(_MDBOOK_INCLUDE))
        case "mkdocs":
            return Dialect(includes=re.compile(_MKDOCS_INCLUDE), invisible=re.compile(_ATTRIBUTE_LINE))
        case "jupyter-book" | "sphinx":
            return Dialect(directives=True, invisible=re.compile(f"{_MYST_MARK}|^%.*$"))
    return Dialect(
        jsx=file.format == "mdx",
        directives=True,
        includes=re.compile(f"{_MDBOOK_INCLUDE}|{_MKDOCS_INCLUDE}"),
        invisible=re.compile(f"{_MYST_MARK}|{_ATTRIBUTE_LINE}"),
    )
