"""The bytes of a page → its title, whether it allows indexing, and its text as UTF-8.

A tokenizer instead of a parse tree: it reads every byte once, so no page can be built to make it slow.
"""

import codecs
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TITLE_LENGTH = 300
_CHARSET_WITHIN = 1_024
#: Encodings used on the web. Python supports many more, some of them unsafe.
_ENCODINGS = re.compile(
    r"iso8859-\d+|cp(125\d|866|932|949|950)|koi8-[ru]|shift_jis|euc_(jp|kr)|gb2312|gbk|gb18030|big5|mac-roman"
)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_OPENING = re.compile(r"<(?:!--|/?[A-Za-z])")
# Possessive quantifiers, and an attribute name must match from its first letter: a mismatch fails at once instead of
# backtracking.
_TAG = re.compile(r"""<(/?)([A-Za-z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""(?<![^\s"'=/])([^\s"'=/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++))""")
_RAW_TEXT = frozenset({"script", "style", "textarea", "noscript", "template"})
_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in (*_RAW_TEXT, "title", "h1")}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSummary:
    """The facts a mirror needs about a page."""

    title: str
    noindex: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTag:
    """One HTML tag."""

    name: str
    closing: bool
    attributes: str
    end: int  #: offset of the text after the tag


def utf8(body: bytes, content_type: str) -> bytes:
    """The page in UTF-8 if it declares another known encoding; otherwise unchanged."""
    encoding = _encoding(body, content_type)
    if not encoding or body.startswith(codecs.BOM_UTF8):
        return body
    try:
        # With a byte order mark, because the encoding that the page declares is no longer correct.
        return codecs.BOM_UTF8 + body.decode(encoding).encode("utf-8")
    except UnicodeError:
        return body


def summarize_page(text: str) -> PageSummary:
    """The first heading of the main part, or else the page title; and whether indexing is forbidden."""
    title: str | None = None
    heading: str | None = None
    noindex = in_main = False
    for tag in _tags(text):
        if tag.closing:
            continue
        if tag.name == "meta":
            noindex = noindex or _is_noindex(tag)
        elif tag.name == "title" and title is None:
            title = _text_until(text, tag)
        elif _opens_main(tag):
            in_main = True
        elif tag.name == "h1" and in_main and heading is None:
            heading = _text_until(text, tag)
    return PageSummary(title=(heading or title or "")[:_TITLE_LENGTH], noindex=noindex)


def forbids_indexing(directives: str) -> bool:
    """Whether a robots directive such as `noindex, nofollow` forbids indexing."""
    return not {"noindex", "none"}.isdisjoint(re.split(r"[\s,:]+", directives.lower()))


def _tags(text: str) -> Iterator[PageTag]:
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        if opening[0] == "<!--":
            position = _after(text, "-->", opening.end())
            continue
        match = _TAG.match(text, opening.start())
        if match is None:
            return  # an unterminated tag swallows the rest of the page
        tag = PageTag(closing=bool(match[1]), name=match[2].lower(), attributes=match[3], end=match.end())
        yield tag
        position = _text_end(text, tag) if tag.name in _RAW_TEXT and not tag.closing else tag.end


def _after(text: str, mark: str, start: int) -> int:
    position = text.find(mark, start)
    return len(text) if position < 0 else position + len(mark)


def _text_end(text: str, tag: PageTag) -> int:
    end = _ENDS[tag.name].search(text, tag.end)
    return len(text) if end is None else end.start()


def _text_until(text: str, tag: PageTag) -> str:
    inner = text[tag.end : min(_text_end(text, tag), tag.end + 10_000)]
    # Permalinks next to a heading show only a symbol (¶, #) and are not part of its text.
    inner = re.sub(r"<a\b[^<>]*>[^<\w]*</a>", "", inner)
    return " ".join(html.unescape(re.sub(r"<[^<>]*>", "", inner)).replace("\u200b", "").split())


def _opens_main(tag: PageTag) -> bool:
    has_role = "role" in tag.attributes
    return tag.name in ("main", "article") or (has_role and _attributes(tag).get("role") == "main")


def _attributes(tag: PageTag) -> dict[str, str]:
    matches = _ATTRIBUTE.finditer(tag.attributes)
    return {match[1].lower(): match[2] or match[3] or match[4] or "" for match in matches}


def _is_noindex(tag: PageTag) -> bool:
    attributes = _attributes(tag)
    is_robots = attributes.get("name", "").strip().lower() in ("robots", "bookwise")
    return is_robots and forbids_indexing(html.unescape(attributes.get("content", "")))


def _encoding(body: bytes, content_type: str) -> str:
    """From the HTTP header, else from the first bytes of the page; empty for UTF-8 and unknown encodings."""
    match = _CHARSET.search(content_type.encode("ascii", "ignore")) or _CHARSET.search(body[:_CHARSET_WITHIN])
    try:
        name = codecs.lookup(match[1].decode("ascii")).name if match else ""
    except LookupError:
        return ""
    if not _ENCODINGS.fullmatch(name):
        return ""
    return "cp1252" if name == "iso8859-1" else name  # as browsers do
