"""Docusaurus Markdown → Markdown without the comments that only highlight lines of code."""

import re

from bookwise.ingestion.parsing.fences import change_code, language_in

_MAGIC = "highlight-(?:next-line|start|end)"
_IN_CODE = re.compile(
    rf"[\s>]*(?://\s*{_MAGIC}|/\*\s*{_MAGIC}\s*\*/|\{{/\*\s*{_MAGIC}\s*\*/\}}|\#\s*{_MAGIC}|--\s*{_MAGIC}|<!--\s*{_MAGIC}\s*-->)\s*"
)
#: In Markdown, `//` begins no comment.
_IN_MARKDOWN = re.compile(rf"[\s>]*(?:\{{/\*\s*{_MAGIC}\s*\*/\}}|\#\s*{_MAGIC}|<!--\s*{_MAGIC}\s*-->)\s*")


def without_magic_comments(text: str) -> str:
    """Code without lines such as `// highlight-next-line`, which the page does not show."""
    return change_code(text, _visible_code) if "highlight-" in text else text


def _visible_code(info: str, lines: list[str]) -> list[str]:
    magic = _IN_MARKDOWN if language_in(info) in ("md", "mdx", "markdown") else _IN_CODE
    return [line for line in lines if not magic.fullmatch(line)]
