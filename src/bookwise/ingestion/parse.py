"""Lesson file and its bytes → lesson: title, sections, blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bookwise.domain.books import Lesson, LessonFile, LessonFormat
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import folder_of, label, stem
from bookwise.ingestion.parsing.decode import decode
from bookwise.ingestion.parsing.dialects import dialect_of
from bookwise.ingestion.parsing.front_matter import split_front_matter
from bookwise.ingestion.parsing.sections import LessonPart, first_title, outline

PARSER_VERSION = "2"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """Limits for one lesson."""

    max_bytes: int = 8 * 1024 * 1024


DEFAULTS = ParseOptions()


def parse(file: LessonFile, raw: bytes, options: ParseOptions = DEFAULTS) -> Lesson:
    """The parsed lesson. Raises `BadLesson` when it cannot be read."""
    if len(raw) > options.max_bytes:
        raise BadLesson(
            "too-large",
            f"{file.source_file} has {len(raw):,} bytes; the limit is {options.max_bytes:,}.",
            advice="Split the lesson into several files.",
        )
    page_title, parts = _PARSERS[file.format](file, decode(raw))
    title = file.title or first_title(parts) or page_title or _title_from_name(file.source_file)
    return Lesson(file=file, title=title, sections=outline(parts, title=title, site=file.site))


def _title_from_name(source_file: str) -> str:
    """`guide/01-robot_arms.md` → `Robot arms`; an index is named after its folder."""
    name = stem(source_file)
    if name.lower() in ("", "index", "readme", "_index"):
        name = stem(folder_of(source_file).rstrip("/")) or name
    return label(name) or source_file


#: The page title outside the text (empty for most formats), and the parts of the text.
_ParsedText: TypeAlias = tuple[str, list[LessonPart]]

# Each parser is imported with the first lesson of its format.


def _markdown(file: LessonFile, text: str) -> _ParsedText:
    from bookwise.ingestion.parsing import markdown, notebook  # loads markdown-it: 65 ms

    if file.format == "notebook":
        return "", notebook.notebook_parts(text, dialect_of(file))
    _, body, _ = split_front_matter(text)
    return "", markdown.markdown_parts(body, dialect_of(file))


def _restructured(file: LessonFile, text: str) -> _ParsedText:
    from bookwise.ingestion.parsing.restructured import restructured_parts  # loads docutils: 41 ms

    return "", restructured_parts(text)


def _html(file: LessonFile, text: str) -> _ParsedText:
    from bookwise.ingestion.parsing.html import html_parts  # loads selectolax: 27 ms

    return html_parts(text)


_PARSERS: dict[LessonFormat, Callable[[LessonFile, str], _ParsedText]] = {
    "markdown": _markdown,
    "mdx": _markdown,
    "notebook": _markdown,
    "rst": _restructured,
    "html": _html,
}
