"""Text with tags, comments and expressions → the visible words."""

import html
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from bookwise.ingestion.parsing.callouts import lead_in

#: Look-ahead is limited in length and in failures per text, so that a hostile text costs no more than a long one.
_FAILURES_MAX = 8
_BRACE_REACH = 20_000

_STOPS = re.compile(r"\\.|`+|\$+|<|\{", re.DOTALL)
_TAG_NAME = re.compile(r"</?(?P<name>[A-Za-z][\w.:-]*)?")
_ATTRIBUTES = re.compile(r"(?:[\s\w:.@/-]|=[^\s\"'`{<>]*)*")
_ATTRIBUTE = re.compile(r"([\w:-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|\{\s*[\"'`]([^\"'`]*)[\"'`]\s*\})")
_AUTOLINK = re.compile(r"<(?:[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*|[\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>")
_BRACES = re.compile(r"[{}]|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|/\*")
_LITERAL = re.compile(r"\{\s*(?:\"([^\"\\\n]*)\"|'([^'\\\n]*)')\s*\}")
_APART = "br hr p div li ul ol dl dt dd tr table section article details summary pre blockquote option"
_INLINE = """
a abbr address area aside audio b base bdi bdo body button canvas caption center cite code col colgroup data
datalist del dfn dialog em embed fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header
hgroup html i iframe img input ins kbd label legend link main map mark math menu meta meter nav noscript
object optgroup output param picture progress q rp rt ruby s samp script search select slot small source
span strike strong style sub sup svg path g rect circle line tbody td template textarea tfoot th thead time
title track tt u var video wbr
"""
_GAPS = frozenset(_APART.split())
_HTML_NAMES = _GAPS | frozenset(_INLINE.split())


@dataclass(frozen=True, slots=True)
class Tag:
    """An HTML or JSX tag in a text."""

    name: str  #: empty for a JSX fragment
    source: str
    end: int  #: position after the tag

    @property
    def closing(self) -> bool:
        return self.source.startswith("</")

    def attribute(self, *names: str) -> str:
        """The first of these attributes that has a text value."""
        values = {m[1]: m[2] or m[3] or m[4] or "" for m in _ATTRIBUTE.finditer(self.source)}
        return " ".join(html.unescape(next((values[name] for name in names if values.get(name)), "")).split())

    @property
    def text(self) -> str:
        """The words of the tag that the published page shows."""
        if self.closing:
            return ""
        match self.name:
            case "TabItem" | "Tab":
                return lead_in("tab", self.attribute("label", "title", "value"))
            case "Admonition":
                return lead_in(self.attribute("type") or "note", self.attribute("title"))
            case "Listing":
                return self._listing()
            case "img" | "Image":
                return self.attribute("alt")
        return ""

    def _listing(self) -> str:
        number, caption, file = (self.attribute(name) for name in ("number", "caption", "file-name"))
        title = ": ".join(filter(None, (f"Listing {number}" if number else "", caption)))
        return f"{title} ({file})" if title and file else title or file


def tag_at(text: str, start: int, *, braces: bool = True) -> Tag | None:
    """The tag at a `<`, or None if there is none. Values may be quoted or in braces."""
    opening = _TAG_NAME.match(text, start)
    if opening is None:
        return None
    position = opening.end()
    if not opening["name"] and text[position : position + 1] != ">":
        return None
    while True:
        skipped = _ATTRIBUTES.match(text, position)
        position = skipped.end() if skipped else position
        character = text[position : position + 1]
        if character == ">":
            return Tag(opening["name"] or "", text[start : position + 1], position + 1)
        position = -1 if character == "{" and not braces else _value_end(text, position, character)
        if position < 0:
            return None


def _value_end(text: str, position: int, quote: str) -> int:
    if quote == "{":
        return brace_end(text, position)
    if quote not in ('"', "'") or not quote:
        return -1
    return text.find(quote, position + 1) + 1 or -1


def brace_end(text: str, start: int) -> int:
    """The position after the `}` that closes the `{` at `start`; -1 if there is none."""
    depth, position, reach = 0, start, start + _BRACE_REACH
    while stop := _BRACES.search(text, position, reach):
        position = stop.end()
        match stop[0]:
            case "{":
                depth += 1
            case "}":
                depth -= 1
                if depth == 0:
                    return position
            case "/*":
                position = text.find("*/", position, reach) + 2
                if position < 2:
                    return -1
    return -1


def string_in_braces(text: str) -> bool:
    """Whether an MDX text starts with a quoted string in braces, which is text, not code."""
    return _LITERAL.match(text) is not None


def readable(text: str, *, jsx: bool) -> str:
    """The text without comments and tags. Line breaks stay, so line numbers do not change.

    In plain Markdown only known HTML is removed: `Vec<T>` and `<your-name>` are text. In MDX all tags and comments in
    braces are removed, a quoted string in braces becomes its text, and other expressions stay.
    """
    if "<" not in text and not (jsx and "{" in text):
        return text
    return _TagRemover(text, jsx).read()


def html_text(text: str) -> str:
    """The text of raw HTML without tags, line by line, with entities decoded."""
    return html.unescape(_TagRemover(text, jsx=False, raw=True).read())


def html_rows(text: str) -> str:
    """The text of an HTML table, one row per line, cells separated by bars."""
    rows = html_text(text.replace("\n", " ").replace("<tr", "\n<tr").replace("<TR", "\n<TR")).split("\n")
    return "\n".join(line for row in rows if (line := " ".join(row.split())))


class _TagRemover:
    """Removes the invisible parts of a text in one pass."""

    def __init__(self, text: str, jsx: bool, *, raw: bool = False) -> None:
        self._text = text
        self._jsx = jsx
        self._raw = raw
        self._output: list[str] = []
        self._copied = 0
        self._failures = 0
        self._last_comment_end = text.rfind("-->")
        self._runs: dict[int, list[int]] | None = None

    def read(self) -> str:
        position = 0
        while stop := _STOPS.search(self._text, position):
            position = self._after(stop)
        self._output.append(self._text[self._copied :])
        return "".join(self._output)

    def _after(self, stop: re.Match[str]) -> int:
        match stop[0][0]:
            case "<":
                return self._angle(stop.start())
            case "{" if self._jsx:
                return self._brace(stop.start())
            case "`" if not self._raw:
                return self._code_span(stop)
            case "$" if not self._raw:
                return self._math(stop)
        return stop.end() if stop[0][0] == "\\" and not self._raw else stop.start() + 1

    def _cut(self, start: int, end: int, replacement: str = "") -> int:
        breaks = "\n" * self._text.count("\n", start, end)
        self._output += (self._text[self._copied : start], replacement, breaks)
        self._copied = end
        return end

    def _angle(self, start: int) -> int:
        text = self._text
        if text.startswith("<!--", start):
            # `<!-->` is a complete comment, so the search starts inside the opening.
            is_closed = self._last_comment_end >= start + 2
            return self._cut(start, text.index("-->", start + 2) + 3) if is_closed else start + 4
        link = None if self._raw else _AUTOLINK.match(text, start)
        if link or (text[start - 2 : start] == "](" and not self._raw):
            return link.end() if link else start + 1
        tag = tag_at(text, start, braces=self._jsx and self._failures < _FAILURES_MAX)
        self._failures += tag is None and text[start + 1 : start + 2].isalpha()
        if tag is None or not self._is_markup(tag):
            return start + 1
        return self._cut(start, tag.end, self._replacement(tag))

    def _is_markup(self, tag: Tag) -> bool:
        if self._jsx or self._raw:
            return True
        return bool(tag.name) and (tag.name.lower() in _HTML_NAMES or tag.closing or "=" in tag.source)

    def _replacement(self, tag: Tag) -> str:
        name = tag.name.lower()
        if words := tag.text:
            return f"{words} "
        if name in ("td", "th"):
            return "| " if not tag.closing else " "
        return " " if name in _GAPS else ""

    def _brace(self, start: int) -> int:
        if literal := _LITERAL.match(self._text, start):
            return self._cut(start, literal.end(), literal[1] or literal[2] or "")
        if not self._text.startswith("/*", start + 1) or self._failures >= _FAILURES_MAX:
            return start + 1
        end = brace_end(self._text, start)
        self._failures += end < 0
        return self._cut(start, end) if end > 0 else start + 1

    def _code_span(self, run: re.Match[str]) -> int:
        if self._runs is None:
            self._runs = defaultdict(list)
            for other in re.finditer(r"`+", self._text):
                self._runs[len(other[0])].append(other.start())
        starts = self._runs[len(run[0])]
        following = bisect_right(starts, run.start())
        return starts[following] + len(run[0]) if following < len(starts) else run.end()

    def _math(self, opening: re.Match[str]) -> int:
        # Math keeps its `<` and braces; a single dollar sign is an amount of money.
        mark, after = opening[0], opening.end()
        if len(mark) > 2 or self._text[after : after + 1].isspace():
            return after
        end = self._text.find(mark, after, after + 1000)
        if end < 0 or self._text[end - 1].isspace() or self._text[end + len(mark) : end + 2].isdigit():
            return after
        return end + len(mark)


_SCRIPT_OPEN = re.compile(r"<(?:script|style)\b", re.IGNORECASE)
_SCRIPT_CLOSE = re.compile(r"</(?:script|style)\s*>", re.IGNORECASE)


def without_scripts(text: str) -> str:
    """Raw HTML without scripts and style sheets; an unclosed one stays."""
    parts, position = [], 0
    while (opening := _SCRIPT_OPEN.search(text, position)) and (closing := _SCRIPT_CLOSE.search(text, opening.end())):
        parts.append(text[position : opening.start()])
        position = closing.end()
    return "".join((*parts, text[position:]))


_HEADING_OPEN = re.compile(r"<[hH]([1-6])\b([^>]*)>")
_HEADING_CLOSE = re.compile(r"</[hH][1-6]\s*>")


def fragments(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Raw HTML split at its headings: (level, id, title, text before the heading); level 0 at the end."""
    position = 0
    while (opening := _HEADING_OPEN.search(text, position)) and (closing := _HEADING_CLOSE.search(text, opening.end())):
        anchor = re.search(r"\bid\s*=\s*[\"']?([^\s\"'>]+)", opening[2])
        title = " ".join(html_text(text[opening.end() : closing.start()]).split())
        yield int(opening[1]), anchor[1] if anchor else "", title, text[position : opening.start()]
        position = closing.end()
    yield 0, "", "", text[position:]
