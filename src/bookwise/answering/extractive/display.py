"""Markdown of a book → the text shown in an answer."""

import re
from collections.abc import Sequence

_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]+)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_REFERENCE = re.compile(r"\[([^\]]+)\]\[[^\]]*\]")
_ADMONITION = re.compile(r"^\s*(?::::+\s*\w*[^\n]*|!!!\s*\w+[^\n]*|\?\?\?\+?\s*\w+[^\n]*)\n?", re.MULTILINE)
_FOOTNOTE = re.compile(r"\[\^[^\]]+\]")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+")
_NUMBER = re.compile(r"\s*(\d{1,3})[.)]\s")
_ADDRESS = re.compile(r"<(https?://[^<>\s]+)>")
_COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_QUOTE = re.compile(r"^\s*>\s?", re.MULTILINE)
_CODE = re.compile(r"(`[^`\n]+`)")


def prose(text: str) -> str:
    """Returns a sentence or list item on one line: links become their text, markup of the site is removed."""
    text = _QUOTE.sub("", _ADMONITION.sub("", text))
    parts = _CODE.split(text)
    parts[::2] = [_plain(part) for part in parts[::2]]
    return " ".join("".join(parts).split())


def _plain(text: str) -> str:
    for pattern in (_IMAGE, _LINK, _REFERENCE, _ADDRESS):
        text = pattern.sub(r"\1", text)
    for pattern in (_FOOTNOTE, _COMMENT, _TAG):
        text = pattern.sub("", text)
    return text


def item(text: str) -> str:
    """Returns a list item without its marker."""
    return prose(_MARKER.sub("", text))


def is_numbered_list(items: Sequence[str]) -> bool:
    """Returns whether the items are a numbered list from 1 on without a gap; Markdown may number them all 1."""
    numbers = [int(match.group(1)) if (match := _NUMBER.match(text)) else 0 for text in items]
    return numbers == list(range(1, len(items) + 1)) or set(numbers) == {1}
