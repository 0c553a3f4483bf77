"""A question as it was typed → its words, without HTML, Markdown, code blocks and addresses."""

import html
import re

from bookwise.text.fences import CODE_BLOCK

_CODE_BLOCK = re.compile(CODE_BLOCK, re.DOTALL)
_HIDDEN = re.compile(r"<(script|style|svg|iframe)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL | re.IGNORECASE)
#: A tag, also an unfinished one. `vector<int>` is code: a single name after a word, without a slash.
_TAG = re.compile(r"(?<!\w)<[A-Za-z!/?][^<>]*(?:>|\Z)|<(?:/[^<>]*|[A-Za-z][\w-]*[\s/][^<>]*)(?:>|\Z)")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s[^()]*)?\)")
_ADDRESS = re.compile(r"(?:https?://|ftp://|www\.|javascript:|data:)\S+", re.IGNORECASE)
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}|>+|[-*+]|\d+[.)])[ \t]+", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\w)[*_~]{1,3}(?=\S)|(?<=\S)[*_~]{1,3}(?!\w)|`+")


def without_markup(text: str) -> str:
    """The words of the text. Inline code stays, without its marks: it often is the subject."""
    text = _CODE_BLOCK.sub(" ", text)
    text = html.unescape(_TAG.sub(" ", _HIDDEN.sub(" ", text)))
    text = _TAG.sub(" ", _HIDDEN.sub(" ", text))  # once more: entities can hide a tag
    text = _ADDRESS.sub(" ", _IMAGE_OR_LINK.sub(r"\1 ", text))
    return " ".join(_EMPHASIS.sub("", _LINE_MARK.sub("", text)).split())
