"""Lessons parsed from text, and short views of them for assertions."""

from textwrap import dedent

from bookwise.domain.books import Block, Lesson
from bookwise.ingestion.parse import parse
from tests.support.builders import lesson_file


def lesson(text: str, **facts: object) -> Lesson:
    """The lesson that an indented text literal holds."""
    return parse(lesson_file(**facts), dedent(text).lstrip("\n").encode())  # type: ignore[arg-type]


def blocks(text: str, **facts: object) -> list[Block]:
    return [block for section in lesson(text, **facts).sections for block in section.blocks]


def shown(text: str, **facts: object) -> list[tuple[str, str]]:
    """(kind, text) of every block."""
    return [(block.kind, block.text) for block in blocks(text, **facts)]


def texts(text: str, **facts: object) -> list[str]:
    return [block.text for block in blocks(text, **facts)]


def paths(text: str, **facts: object) -> list[tuple[str, ...]]:
    return [section.heading_path for section in lesson(text, **facts).sections]


def anchors(text: str, **facts: object) -> list[str]:
    return [section.anchor for section in lesson(text, **facts).sections]
