"""A block of a book → the Markdown shown in an answer, without the markup of its site."""

import re
from textwrap import dedent

from bookwise.text.blocks import MarkdownBlock
from bookwise.text.fences import FENCE
from bookwise.text.formulas import without_formulas

_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_REFERENCE = re.compile(r"\[([^\]]+)\]\[[^\]]*\]")
_ADMONITION = re.compile(r"^\s*(?::::+\s*\w*[^\n]*|!!!\s*\w+[^\n]*|\?\?\?\+?\s*\w+[^\n]*)\n?", re.MULTILINE)
_FOOTNOTE = re.compile(r"\[\^[^\]]+\]")
_HEADING_ID = re.compile(r"\s*\{#[\w-]+\}")
_DEFINITION = re.compile(r"^\s*\[[^\]]+\]:\s+\S+.*$", re.MULTILINE)
_ADDRESS = re.compile(r"<(https?://[^<>\s]+)>")
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_QUOTE = re.compile(r"^\s*>\s?", re.MULTILINE)
_MARKER = re.compile(r"^(?:(?:[-*+]|\d{1,3}[.)])\s+)+")
_STARS = re.compile(r"\*{1,3}(\S(?:[^*]*[^*\s])?)\*{1,3}")
_UNDERSCORES = re.compile(r"(?<!\w)_{1,3}(\S(?:[^_]*[^_\s])?)_{1,3}(?!\w)")
_CODE = re.compile(r"(`[^`\n]+`)")


def readable(block: MarkdownBlock) -> str:
    """The block as Markdown that any renderer shows; empty when nothing of it can be read."""
    if block.kind == "code":
        return dedent(block.text)
    if block.kind == "paragraph":
        return prose(block.text)
    return _lines(dedent(block.text))


def prose(text: str) -> str:
    """Returns a paragraph on one line: links become their text, markup of the site is removed."""
    text = _DEFINITION.sub("", _QUOTE.sub("", _ADMONITION.sub("", text)))
    return " ".join(_outside_code(text).split())


def plain(text: str) -> str:
    """Returns a sentence or a list item as plain text on one line: `prose` without emphasis, formulas, code marks and
    markers."""
    text = without_formulas(_MARKER.sub("", prose(text)))
    for pattern in (_STARS, _UNDERSCORES):
        text = pattern.sub(r"\1", text)
    return text.replace("`", "")


def _lines(text: str) -> str:
    """Returns a list or a table, cleaned line by line; the code inside a list stays unchanged."""
    lines, in_code = [], False
    for line in text.splitlines():
        fence = bool(FENCE.match(line))
        lines.append(line if fence or in_code else _outside_code(line).rstrip())
        in_code ^= fence
    return "\n".join(lines)


def _outside_code(text: str) -> str:
    parts = _CODE.split(text)
    parts[::2] = [_plain(part) for part in parts[::2]]
    return "".join(parts)


def _plain(text: str) -> str:
    for pattern in (_IMAGE, _LINK, _REFERENCE, _ADDRESS):
        text = pattern.sub(r"\1", text)
    for pattern in (_FOOTNOTE, _COMMENT, _TAG, _HEADING_ID):
        text = pattern.sub("", text)
    return text
