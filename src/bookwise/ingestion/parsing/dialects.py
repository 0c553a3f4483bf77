"""Lesson file → the Markdown dialect it is written in."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from bookwise.domain.books import LessonFile
from bookwise.ingestion.parsing.d2lbook import without_marks
from bookwise.ingestion.parsing.include_statements import MDBOOK_STATEMENT, MKDOCS_STATEMENT
from bookwise.ingestion.parsing.magic_comments import without_magic_comments
from bookwise.ingestion.parsing.mdbook import without_hidden_lines
from bookwise.ingestion.parsing.quarto import plain_markdown, without_options
from bookwise.ingestion.parsing.shortcodes import without_shortcodes
from bookwise.ingestion.parsing.termynal import with_plain_terminals

_MYST_MARK = r"^\([^()\s]+\)=\s*$|^\+\+\+(?:\s.*)?$"
_ATTRIBUTE_LINE = r"^\{:?\s*[.#][^{}]*\}\s*$"
_NO_MATCH = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """The Markdown extensions that a lesson uses."""

    jsx: bool = False
    directives: bool = False  #: a fence named `{note}` is a directive, not code
    roles: bool = False  #: `{ref}`label`` is a reference, not code
    includes: re.Pattern[str] = _NO_MATCH  #: matches include statements that were not replaced, in text and in code
    invisible: re.Pattern[str] = _NO_MATCH  #: matches marks in text that readers do not see
    translate: Callable[[str], str] = str  #: a whole text → Markdown without the generator's own syntax
    translate_cell: Callable[[str], str] = str  #: the code of a notebook cell → the code that readers see


_QUARTO = Dialect(translate=plain_markdown, translate_cell=without_options)


def dialect_of(file: LessonFile) -> Dialect:
    """The dialect of the lesson's site. Docusaurus reads `.md` as MDX; a plain folder may use any other dialect."""
    if file.source_file.lower().endswith(".qmd"):
        return _QUARTO
    match file.site:
        case "quarto":
            return _QUARTO
        case "hugo":
            return Dialect(invisible=re.compile(_ATTRIBUTE_LINE), translate=without_shortcodes)
        case "docusaurus":
            return Dialect(jsx=True, translate=without_magic_comments)
        case "mdbook":
            return Dialect(includes=re.compile(MDBOOK_STATEMENT), translate=without_hidden_lines)
        case "mkdocs":
            return Dialect(
                includes=re.compile(MKDOCS_STATEMENT),
                invisible=re.compile(_ATTRIBUTE_LINE),
                translate=with_plain_terminals,
            )
        case "jupyter-book" | "sphinx":
            return Dialect(directives=True, roles=True, invisible=re.compile(f"{_MYST_MARK}|^%.*$"))
    return Dialect(
        jsx=file.format == "mdx",
        directives=True,
        roles=True,
        includes=re.compile(f"{MDBOOK_STATEMENT}|{MKDOCS_STATEMENT}"),
        invisible=re.compile(f"{_MYST_MARK}|{_ATTRIBUTE_LINE}"),
        translate=without_marks,
    )
