"""The bytes of a page into the little a mirror must know of it: title, wish not to be indexed, plain UTF-8.

A tokenizer of its own, not a tree: it reads every byte once, so a page made to be slow to parse is not.
"""

import codecs
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TITLE_LENGTH = 300
_CHARSET_WITHIN = 1_024
#: Encodings of the web; Python knows many more, and some of them are traps.
_ENCODINGS = re.compile(
    r"iso8859-\d+|cp(125\d|866|932|949|950)|koi8-[ru]|shift_jis|euc_(jp|kr)|gb2312|gbk|gb18030|big5|mac-roman"
)
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_OPENING = re.compile(r"<(?:!--|/?[A-Za-z])")
# Possessive, and an attribute's name only from its first letter on: what does not match is given up at once
# instead of being tried in all its parts.
_TAG = re.compile(r"""<(/?)([A-Za-z][^\s/>]*+)((?:[^>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""(?<![^\s"'=/])([^\s"'=/]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"']++))""")
_RAW_TEXT = frozenset({"script", "style", "textarea", "noscript", "template"})
_ENDS = {name: re.compile(f"</{name}", re.IGNORECASE) for name in (*_RAW_TEXT, "title", "h1")}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSummary:
    """What is seen of a page in passing."""

    title: str
    noindex: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTag:
    name: str
    closing: bool
    attributes: str
    end: int  #: where the text after the tag begins


def utf8(body: bytes, content_type: str) -> bytes:
    """The page in UTF-8, where it says which other encoding it has; else as it is."""
    encoding = _encoding(body, content_type)
    if not encoding or body.startswith(codecs.BOM_UTF8):
        return body
    try:
        # With a mark, because the page's own word about its encoding is no longer true.
        return codecs.BOM_UTF8 + body.decode(encoding).encode("utf-8")
    except UnicodeError:
        return body


def summarize_page(text: str) -> PageSummary:
    """The heading of the page's main part, or else its title; and whether it asks not to be indexed."""
    title: str | None = None
    heading: str | None = None
    noindex = in_main = False
    for tag in _tags(text):
        if tag.closing:
            continue
        if tag.name == "meta":
            noindex = noindex or _forbids_index(tag)
        elif tag.name == "title" and title is None:
            title = _text_until(text, tag)
        elif _opens_main(tag):
            in_main = True
        elif tag.name == "h1" and in_main and heading is None:
            heading = _text_until(text, tag)
    return PageSummary(title=(heading or title or "")[:_TITLE_LENGTH], noindex=noindex)


def asks_not_to_be_indexed(directives: str) -> bool:
    """Whether the words of a robots directive (`noindex, nofollow`) speak against an index."""
    return not {"noindex", "none"}.isdisjoint(re.split(r"[\s,:]+", directives.lower()))


def _tags(text: str) -> Iterator[PageTag]:
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        if opening[0] == "<!--":
            position = _after(text, "-->", opening.end())
            continue
        match = _TAG.match(text, opening.start())
        if match is None:
            return  # a tag that never ends takes the rest of the page with it
        tag = PageTag(closing=bool(match[1]), name=match[2].lower(), attributes=match[3], end=match.end())
        yield tag
        position = _text_end(text, tag) if tag.name in _RAW_TEXT and not tag.closing else tag.end


def _after(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _text_end(text: str, tag: PageTag) -> int:
    found = _ENDS[tag.name].search(text, tag.end)
    return len(text) if found is None else found.start()


def _text_until(text: str, tag: PageTag) -> str:
    inner = text[tag.end : min(_text_end(text, tag), tag.end + 10_000)]
    # Links beside a heading that show only a sign (¶, #) lead to the heading itself and are not part of it.
    inner = re.sub(r"<a\b[^<>]*>[^<\w]*</a>", "", inner)
    return " ".join(html.unescape(re.sub(r"<[^<>]*>", "", inner)).replace("\u200b", "").split())


def _opens_main(tag: PageTag) -> bool:
    has_role = "role" in tag.attributes
    return tag.name in ("main", "article") or (has_role and _attributes(tag).get("role") == "main")


def _attributes(tag: PageTag) -> dict[str, str]:
    found = _ATTRIBUTE.finditer(tag.attributes)
    return {match[1].lower(): match[2] or match[3] or match[4] or "" for match in found}


def _forbids_index(tag: PageTag) -> bool:
    attributes = _attributes(tag)
    named = attributes.get("name", "").strip().lower() in ("robots", "bookwise")
    return named and asks_not_to_be_indexed(html.unescape(attributes.get("content", "")))


def _encoding(body: bytes, content_type: str) -> str:
    """By the HTTP header, else by the page's own first bytes; empty for UTF-8 and for what is not known."""
    named = _CHARSET.search(content_type.encode("ascii", "ignore")) or _CHARSET.search(body[:_CHARSET_WITHIN])
    try:
        name = codecs.lookup(named[1].decode("ascii")).name if named else ""
    except LookupError:
        return ""
    if not _ENCODINGS.fullmatch(name):
        return ""
    return "cp1252" if name == "iso8859-1" else name  # as every browser reads it
