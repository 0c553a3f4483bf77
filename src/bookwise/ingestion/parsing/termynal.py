"""MkDocs Markdown → Markdown with the plain text of terminals that a page animates (Termynal)."""

import re
from html import unescape

from bookwise.ingestion.parsing.fences import change_code, language_in

_STYLED = re.compile(r"<(?:font|span)\b[^<>]*>")
_TAG = re.compile(r"</?(?:font|span|b|u|i)\b[^<>]*>")


def with_plain_terminals(text: str) -> str:
    """Terminal output without the tags that colour it."""
    return change_code(text, _plain) if _STYLED.search(text) else text


def _plain(info: str, lines: list[str]) -> list[str]:
    if language_in(info) != "console" or not any(map(_STYLED.search, lines)):
        return lines
    return [unescape(_TAG.sub("", line)) for line in lines]
