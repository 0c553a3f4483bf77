"""Lesson file and its bytes → a lesson: title, sections, blocks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from bookwise.domain.books import Lesson, LessonFile, LessonFormat
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import folder_of, label, stem
from bookwise.ingestion.parsing.decode import decode
from bookwise.ingestion.parsing.dialects import dialect_of
from bookwise.ingestion.parsing.front_matter import split_front_matter
from bookwise.ingestion.parsing.sections import Piece, first_title, outline

PARSER_VERSION = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseOptions:
    """What a lesson may cost."""

    max_bytes: int = 8 * 1024 * 1024


DEFAULTS = ParseOptions()


def parse(file: LessonFile, raw: bytes, options: ParseOptions = DEFAULTS) -> Lesson:
    """The lesson that the bytes hold; `BadLesson` when they cannot be read."""
    if len(raw) > options.max_bytes:
        raise BadLesson(
            "too-large",
            f"{file.source_file} has {len(raw):,} bytes; the limit is {options.max_bytes:,}.",
            advice="Split the lesson into several files.",
        )
    named, pieces = _READERS[file.format](file, decode(raw))
    title = file.title or first_title(pieces) or named or _title_of_name(file.source_file)
    return Lesson(file=file, title=title, sections=outline(pieces, title=title, site=file.site))


def _title_of_name(source_file: str) -> str:
    """`guide/01-robot_arms.md` → `Robot arms`; an index is named after its folder."""
    name = stem(source_file)
    if name.lower() in ("", "index", "readme", "_index"):
        name = stem(folder_of(source_file).rstrip("/")) or name
    return label(name) or source_file


#: A title that stands outside of the text, empty for most formats, and the pieces.
_Read: TypeAlias = tuple[str, list[Piece]]

# Each parser is loaded with the first lesson of its format: together they would slow every start.


def _markdown(file: LessonFile, text: str) -> _Read:
    from bookwise.ingestion.parsing.markdown import markdown_pieces

    _, body, _ = split_front_matter(text)
    return "", markdown_pieces(body, dialect_of(file))


def _notebook(file: LessonFile, text: str) -> _Read:
    from bookwise.ingestion.parsing.notebook import notebook_pieces

    return "", notebook_pieces(text, dialect_of(file))


def _restructured(file: LessonFile, text: str) -> _Read:
    from bookwise.ingestion.parsing.restructured import restructured_pieces

    return "", restructured_pieces(text)


def _html(file: LessonFile, text: str) -> _Read:
    from bookwise.ingestion.parsing.html import html_pieces

    return html_pieces(text)


_READERS: dict[LessonFormat, Callable[[LessonFile, str], _Read]] = {
    "markdown": _markdown,
    "mdx": _markdown,
    "notebook": _notebook,
    "rst": _restructured,
    "html": _html,
}
