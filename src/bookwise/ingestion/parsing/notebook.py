"""A Jupyter notebook → headings and blocks in reading order."""

import json
from collections.abc import Iterator
from typing import Any

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.dialects import Dialect
from bookwise.ingestion.parsing.fences import code_block
from bookwise.ingestion.parsing.front_matter import split_front_matter
from bookwise.ingestion.parsing.markdown import markdown_parts
from bookwise.ingestion.parsing.sections import LessonPart


def notebook_parts(text: str, dialect: Dialect) -> list[LessonPart]:
    """The parts of Markdown cells, and code cells as fenced code; outputs and raw cells are left out.

    Cells are parsed separately, so that an unclosed fence does not affect the next cell. Raises `BadLesson`.
    """
    notebook = _load(text)
    language = _language(notebook)
    parts: list[LessonPart] = []
    for number, (kind, source) in enumerate(_cells(notebook)):
        if kind == "markdown":
            body = split_front_matter(source)[1] if number == 0 else source
            parts += markdown_parts(body, dialect)
        elif kind == "code" and source.strip():
            parts.append(code_block(dialect.translate_cell(source), info=language))
    return parts


def _bad(problem: str) -> BadLesson:
    return BadLesson("notebook", f"The notebook {problem}.", advice="Save it again from Jupyter.")


def _load(text: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(f"is not valid JSON: {error}") from error
    if not isinstance(notebook, dict):
        raise _bad("is not a JSON object")
    return notebook


def _cells(notebook: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The kind and source of each cell, in notebook format 4 or 3."""
    sheets = notebook.get("worksheets", [notebook])
    if not isinstance(sheets, list) or not any(isinstance(s, dict) and "cells" in s for s in sheets):
        raise _bad("has no cells")
    for sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        if not isinstance(cells, list):
            raise _bad("has cells that are not a list")
        yield from map(_cell, cells)


def _cell(cell: object) -> tuple[str, str]:
    if not isinstance(cell, dict):
        raise _bad("has a cell that is not an object")
    source = cell.get("source", cell.get("input", ""))
    lines = [line for line in (source if isinstance(source, list) else [source]) if isinstance(line, str)]
    if len(lines) != (len(source) if isinstance(source, list) else 1):
        raise _bad("has a cell whose source is not text")
    text = "".join(lines).replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise _bad("has a cell with characters that are not text")
    if cell.get("cell_type") == "heading":
        level = cell.get("level")
        return "markdown", f"{'#' * level if isinstance(level, int) and level < 7 else '#'} {text}"
    return str(cell.get("cell_type")), text


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for holder, key in (("kernelspec", "language"), ("language_info", "name")):
        facts = metadata.get(holder) if isinstance(metadata, dict) else None
        language = facts.get(key) if isinstance(facts, dict) else None
        if isinstance(language, str) and language.replace("+", "").replace("-", "").isalnum():
            return "python" if language.startswith("ipython") else language
    return "python"
