"""Block rules that teach markdown-it the containers, includes and components of site generators."""

import re
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, html_block, list_block, make_fence_rule, reference, table
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.callouts import lead_in
from bookwise.ingestion.directives import is_verbatim, title_of
from bookwise.ingestion.tags import brace_end, string_in_braces, tag_at

Rule: TypeAlias = Callable[[StateBlock, int, int, bool], bool]

MAX_LEVEL = 100  #: a list inside a list takes two

_INTERRUPTS = {"alt": ["paragraph", "reference", "blockquote", "list"]}
_HEADER_LENGTH = 500
_TAG_LINES = 100
_STATEMENT_LINES = 500

_RAW_ENDS = (
    (re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.I), r"(?i)</(?:script|pre|style|textarea)>"),
    (re.compile(r"<\?"), r"\?>"),
    (re.compile(r"<!\[CDATA\["), r"\]\]>"),
    (re.compile(r"<![A-Za-z]"), r">"),
)
_COLONS = re.compile(
    r":{3,}(?:[ \t]*(?:\{(?P<directive>[^}]*)\}|(?P<name>[A-Za-z][\w-]*))[ \t]*"
    r"(?:\[(?P<label>[^\]]*)\])?(?P<title>.*))?"
)
_SLASHES = re.compile(r"/{3,}(?:[ \t]+(?P<name>[A-Za-z][\w-]*)[ \t]*(?:\|(?P<title>.*))?)?")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\s*$")
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?)\s+(?P<name>[\w-]+)[\w\s-]*(?:\"(?P<title>.*)\")?\s*")
_TAB = re.compile(r"===[+!]*\s+\"(?P<title>.*)\"\s*")
_OPTION = re.compile(r":[\w-]+:(?:\s|$)")
_STATEMENT = re.compile(
    r"import\s*(?:[\w*{$][^'\"]*\bfrom\s*)?['\"]|import\s*(?:[\w$]+\s*,\s*)?\{[^}'\"]*$|"
    r"export\s+(?:default\b|const\s|let\s|var\s|function\b|class\s|async\s|type\s|interface\s|\{|\*)"
)
_IMPORTED = re.compile(r"['\"]\s*;?\s*$")
_BRACKETS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|//.*|[{}()\[\]]")

_colon_fence = make_fence_rule(markers=(":",), disallow_marker_in_info=())


@cache
def parser(*, jsx: bool) -> MarkdownIt:
    """A block parser for Markdown, or for MDX. Inline markup is parsed on demand."""
    options = {"html": True, "inline_definitions": True, "alerts": True, "maxNesting": 10 * MAX_LEVEL}
    md = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    dollarmath_plugin(md, allow_blank_lines=False, double_inline=True)
    footnote_plugin(md)
    md.core.ruler.enableOnly(["normalize", "block"])
    rules = md.block.ruler
    rules.at("table", _whole(table), {"alt": ["paragraph", "reference"]})
    rules.at("list", _outermost(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    rules.at("footnote_def", _outermost(footnote_def), {"alt": ["paragraph", "reference"]})
    rules.at("reference", _defined, {"alt": []})
    rules.at("html_block", _closed_html, {"alt": ["paragraph", "reference", "blockquote"]})
    rules.before("table", "depth", _depth)
    rules.before("fence", "box", _box, _INTERRUPTS)
    rules.before("html_block", "comment", _comment, _INTERRUPTS)
    if jsx:
        md.disable(["code", "html_block", "autolink"])
        rules.before("fence", "jsx", _jsx, _INTERRUPTS)
        rules.before("fence", "expression", _expression)
        rules.before("fence", "statement", _statement)
    else:
        rules.before("fence", "admonition", _admonition, _INTERRUPTS)
    return md


def source_line(state: StateBlock, line: int) -> str:
    """A line without the markup and indentation of what it stands in."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _depth(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level > MAX_LEVEL:
        raise BadLesson(
            "too-deep",
            f"Line {start + 1} of the lesson's text is nested more than {MAX_LEVEL} levels deep.",
            advice="Flatten the lists and quotes there.",
        )
    return False


def _whole(rule: Rule) -> Rule:
    """The rule, leaving one token that holds the block's lines instead of one token per cell."""

    def kept(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        before, level = len(state.tokens), state.level
        if not rule(state, start, end, silent):
            return False
        if not silent:
            del state.tokens[before:]
            state.level = level
            _push(state, "rows", start, state.getLines(start, state.line, state.sCount[start], False))
        return True

    return kept


def _outermost(rule: Rule) -> Rule:
    """The rule, whose first token holds the lines of the whole block; blocks inside it hold none."""

    def kept(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if silent or state.env.get("kept"):
            return rule(state, start, end, silent)
        before, indent = len(state.tokens), state.sCount[start]
        state.env["kept"] = True
        matched = rule(state, start, end, silent)
        state.env["kept"] = False
        if matched:
            state.tokens[before].content = state.getLines(start, state.line, indent, False)
        return matched

    return kept


def _defined(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A link definition, whose token holds its lines: links stay as in the source."""
    if not reference(state, start, end, silent):
        return False
    state.tokens[-1].content = state.getLines(start, state.line, state.sCount[start], False)
    return True


def _push(state: StateBlock, kind: str, start: int, content: str) -> None:
    token = state.push(kind, "", 0)
    token.map = [start, state.line]
    token.content = content
    token.info = source_line(state, start)


def _next(state: StateBlock, pattern: str, position: int) -> tuple[int, int]:
    """Where the pattern is found next, (-1, -1) for nowhere. The last answer is remembered: many openings
    that wait for one closing mark cost one search."""
    asked, start, end = state.env.get(pattern, (0, -2, -2))
    if start == -2 or position < asked or (-1 < start < position):
        found = re.compile(pattern).search(state.src, position)
        asked, (start, end) = position, found.span() if found else (-1, -1)
        state.env[pattern] = (asked, start, end)
    return start, end


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`<!-- … -->`, however long; without its end it is text. Words after the end stay."""
    position = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith("<!--", position):
        return False
    # `<!-->` is a whole comment, so the search begins inside the opening.
    _, close = _next(state, "-->", position + 2)
    last = bisect_left(state.eMarks, close, start, state.lineMax)
    if close < 0 or last >= state.lineMax:
        return False
    if not silent:
        state.line = last + 1
        _push(state, "spoken", start, state.src[close : state.eMarks[last]].strip())
    return True


def _closed_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A raw HTML block, unless it would swallow the rest of the lesson for want of its end."""
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("<", position) or state.src.startswith("<!--", position):
        return False
    for opening, closing in _RAW_ENDS:
        if opening.match(state.src, position, state.eMarks[start]) and _next(state, closing, position)[0] < 0:
            return False
    return html_block(state, start, end, silent)


def _box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The opening or closing line of `:::note Title`, `:::{note} Title` or `/// note | Title`.

    What stands inside is parsed as if the lines were not there, so nesting needs no bookkeeping.
    """
    text = source_line(state, start)[:_HEADER_LENGTH].rstrip()
    if text[:3] not in (":::", "///") or state.is_code_block(start):
        return False
    header = (_COLONS if text[0] == ":" else _SLASHES).fullmatch(text)
    if header is None:
        return False
    parts = header.groupdict(default="")
    if is_verbatim(parts.get("directive", "")):
        return _colon_fence(state, start, end, silent)
    if not silent:
        state.line = _after_options(state, start + 1, end) if text.strip(":/") else start + 1
        _push(state, "spoken", start, _box_title(parts))
    return True


def _box_title(parts: dict[str, str]) -> str:
    title = _ATTRIBUTES.sub("", parts.get("label") or parts["title"]).strip(' \t"')
    if directive := parts.get("directive"):
        return title_of(directive, title)
    return lead_in(parts["name"], title)


def _after_options(state: StateBlock, line: int, end: int) -> int:
    """The first line after options such as `:class: wide` or an indented `open: true`."""
    while line < end and not state.isEmpty(line):
        text = source_line(state, line)
        indented = state.sCount[line] - state.blkIndent >= 4 and re.match(r"[\w-]+:(?:\s|$)", text)
        if not indented and not _OPTION.match(text):
            break
        line += 1
    return line


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`!!! note "Title"`, `??? note` and `=== "Tab"`, with an indented body."""
    text = source_line(state, start)[:_HEADER_LENGTH]
    if text[:3] not in ("!!!", "???", "===") or state.is_code_block(start):
        return False
    header = _ADMONITION.fullmatch(text) or _TAB.fullmatch(text)
    if header is None or silent:
        return header is not None
    indent, last = state.sCount[start] + 4, start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    state.line = start + 1
    _push(state, "spoken", start, lead_in(header.groupdict().get("name") or "tab", header["title"] or ""))
    _indented(state, start + 1, last, indent)
    return True


def _indented(state: StateBlock, start: int, end: int, indent: int) -> None:
    before = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = indent, end, "admonition"
    state.push("indented_open", "", 1)
    state.md.block.tokenize(state, start, end)
    state.push("indented_close", "", -1)
    state.blkIndent, state.lineMax, state.parentType = before
    state.line = end


def _jsx(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines that hold nothing but tags. A tag may go on over several lines, but not interrupt a paragraph
    then."""
    text = source_line(state, start)
    if not text.startswith("<"):
        return False
    found = _only_tags(text)
    if found is None and not silent:
        found = _only_tags(_paragraph(state, start, end))
    if found is None or silent:
        return found is not None
    state.line = start + 1 + found[1]
    _push(state, "spoken", start, found[0])
    return True


def _paragraph(state: StateBlock, start: int, end: int) -> str:
    last = start + 1
    while last < min(end, start + _TAG_LINES) and not state.isEmpty(last):
        last += 1
    return "\n".join(source_line(state, line) for line in range(start, last))


def _only_tags(text: str) -> tuple[str, int] | None:
    """The words of the tags that fill the first lines, and the number of line breaks in them."""
    words: list[str] = []
    position = 0
    while position < len(text) and text[position] != "\n":
        if text[position] == "<":
            tag = tag_at(text, position)
            if tag is None:
                return None
            words.append(tag.text)
            position = tag.end
        elif text.startswith("{/*", position):
            position = brace_end(text, position)
        elif text[position].isspace():
            position += 1
        else:
            return None
        if position < 0:
            return None
    return " ".join(filter(None, words)), text.count("\n", 0, position)


def _expression(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A paragraph of MDX that is one expression or comment in braces: code, not words."""
    text = source_line(state, start)
    if silent or not text.startswith("{") or string_in_braces(text):
        return False
    if text.startswith("{/*"):
        return _brace_comment(state, start)
    text = _paragraph(state, start, end)
    close = brace_end(text, 0)
    if close < 0 or text[close:].partition("\n")[0].strip():
        return False
    state.line = start + 1 + text.count("\n", 0, close)
    return True


def _brace_comment(state: StateBlock, start: int) -> bool:
    _, close = _next(state, r"\*/\s*\}", state.bMarks[start] + state.tShift[start])
    last = bisect_left(state.eMarks, close, start, state.lineMax)
    if close < 0 or last >= state.lineMax or state.src[close : state.eMarks[last]].strip():
        return False
    state.line = last + 1
    return True


def _statement(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`import` and `export` statements of MDX, at the margin only."""
    if silent or state.level or state.sCount[start] or not _STATEMENT.match(source_line(state, start)):
        return False
    state.line = _statement_end(state, start, end)
    return True


def _statement_end(state: StateBlock, start: int, end: int) -> int:
    """An import ends with its quoted source, an export at a blank line outside of brackets. Where brackets
    never match, the next blank line decides, from then on at once."""
    blank = start + 1
    while blank < end and not state.isEmpty(blank):
        blank += 1
    reach = blank if state.env.get("unbalanced") else min(end, start + _STATEMENT_LINES)
    importing, depth = source_line(state, start).startswith("import"), 0
    for line in range(start, reach):
        text = source_line(state, line)
        if not text and depth <= 0:
            return line
        depth += sum((b in "{([") - (b in "})]") for b in _BRACKETS.findall(text) if len(b) == 1)
        if importing and depth <= 0 and _IMPORTED.search(text):
            return line + 1
    if depth > 0:
        state.env["unbalanced"] = True
    return reach if depth <= 0 and reach == end else blank
