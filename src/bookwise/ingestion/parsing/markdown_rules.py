"""Block rules for markdown-it: containers, comments and raw HTML as site generators use them."""

import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock, html_block, list_block, make_fence_rule, reference, table
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_def

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.block_state import next_match, push, skip_until, source_line
from bookwise.ingestion.parsing.callouts import lead_in
from bookwise.ingestion.parsing.directives import is_verbatim, title_of
from bookwise.ingestion.parsing.mdx_rules import expression, jsx_tags, quiz, statement

Rule: TypeAlias = Callable[[StateBlock, int, int, bool], bool]

MAX_LEVEL = 100  #: a nested list takes two levels

_INTERRUPTS: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
_HEADER_LENGTH = 500

_RAW_ENDS = (
    (re.compile(r"<(?:script|pre|style|textarea)(?=[\s>]|$)", re.I), r"(?i)</(?:script|pre|style|textarea)>"),
    (re.compile(r"<\?"), r"\?>"),
    (re.compile(r"<!\[CDATA\["), r"\]\]>"),
    (re.compile(r"<![A-Za-z]"), r">"),
)
_SCRIPT = re.compile(r"<(?:script|style)\b", re.I)
_COLONS = re.compile(
    r":{3,}(?:[ \t]*(?:\{(?P<directive>[^}]*)\}|(?P<name>[A-Za-z][\w.-]*))[ \t]*"
    r"(?:\[(?P<label>[^\]]*)\])?(?P<title>.*))?"
)
_SLASHES = re.compile(r"/{3,}(?:[ \t]+(?P<name>[A-Za-z][\w-]*)[ \t]*(?:\|(?P<title>.*))?)?")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}\s*$")
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?)\s+(?P<name>[\w-]+)(?P<classes>[\w\s-]*)(?:\"(?P<title>.*)\")?\s*")
_STYLES = ("inline", "end", "annotate", "highlight", "blink")
_TAB = re.compile(r"===[+!]*\s+\"(?P<title>.*)\"\s*")
_OPTION = re.compile(r":[\w-]+:(?:\s|$)")

_colon_fence = make_fence_rule(markers=(":",), disallow_marker_in_info=())


@cache
def parser(*, jsx: bool) -> MarkdownIt:
    """The block parser for Markdown or MDX. Inline markup is parsed only when needed."""
    options = {"html": True, "inline_definitions": True, "alerts": True, "maxNesting": 10 * MAX_LEVEL}
    md = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    dollarmath_plugin(md, allow_blank_lines=False, double_inline=True)
    footnote_plugin(md)
    md.core.ruler.enableOnly(["normalize", "block"])
    rules = md.block.ruler
    rules.at("table", _as_one_token(table), {"alt": ["paragraph", "reference"]})
    rules.at("list", _with_source(list_block), {"alt": ["paragraph", "reference", "blockquote"]})
    rules.at("footnote_def", _with_source(footnote_def), {"alt": ["paragraph", "reference"]})
    rules.at("reference", _link_definition, {"alt": []})
    rules.at("html_block", _raw_html, {"alt": ["paragraph", "reference", "blockquote"]})
    rules.before("table", "depth", _check_depth)
    rules.before("fence", "box", _box, _INTERRUPTS)
    rules.before("html_block", "comment", _comment, _INTERRUPTS)
    if jsx:
        md.disable(["code", "html_block", "autolink"])
        rules.before("fence", "quiz", quiz, _INTERRUPTS)
        rules.before("fence", "jsx", jsx_tags, _INTERRUPTS)
        rules.before("fence", "expression", expression)
        rules.before("fence", "statement", statement)
    else:
        rules.before("fence", "admonition", _admonition, _INTERRUPTS)
    return md


def _check_depth(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.level > MAX_LEVEL:
        raise BadLesson(
            "too-deep",
            f"Line {start + 1} of the lesson's text is nested more than {MAX_LEVEL} levels deep.",
            advice="Reduce the nesting of lists and quotes there.",
        )
    return False


def _as_one_token(rule: Rule) -> Rule:
    """The rule with one token for the lines of the block instead of one token per cell."""

    def wrapper(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        before, level = len(state.tokens), state.level
        if not rule(state, start, end, silent):
            return False
        if not silent:
            del state.tokens[before:]
            state.level = level
            push(state, "rows", start, state.getLines(start, state.line, state.sCount[start], False))
        return True

    return wrapper


def _with_source(rule: Rule) -> Rule:
    """The rule with the source lines of the outermost block in its first token."""

    def wrapper(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if silent or state.env.get("in_block"):
            return rule(state, start, end, silent)
        before, indent = len(state.tokens), state.sCount[start]
        state.env["in_block"] = True
        matched = rule(state, start, end, silent)
        state.env["in_block"] = False
        if matched:
            state.tokens[before].content = state.getLines(start, state.line, indent, False)
        return matched

    return wrapper


def _link_definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A link definition with its source lines in the token, because links stay as in the source."""
    if not reference(state, start, end, silent):
        return False
    state.tokens[-1].content = state.getLines(start, state.line, state.sCount[start], False)
    return True


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`<!-- … -->` of any length. Without an end it is text; text after the end stays."""
    position = state.bMarks[start] + state.tShift[start]
    if state.is_code_block(start) or not state.src.startswith("<!--", position):
        return False
    # `<!-->` is a complete comment, so the search starts inside the opening.
    _, close = next_match(state, "-->", position + 2)
    return skip_until(state, start, close, silent=silent)


def _raw_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A raw HTML block, unless it has no end and would hide the rest of the lesson."""
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("<", position) or state.src.startswith("<!--", position):
        return False
    for opening, closing in _RAW_ENDS:
        if opening.match(state.src, position, state.eMarks[start]) and not _is_closed(state, position, closing):
            return False
    return html_block(state, start, end, silent)


def _is_closed(state: StateBlock, position: int, closing: str) -> bool:
    """Whether a raw block has an end, and a script ends before the next heading. Otherwise an unquoted example of a
    script would extend to the end of another script far below."""
    close, _ = next_match(state, closing, position)
    heading, _ = next_match(state, r"(?m)^#{1,6} ", position)
    is_script = _SCRIPT.match(state.src, position)
    return close >= 0 and not (is_script and 0 <= heading < close)


def _box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The opening or closing line of `:::note Title`, `:::{note} Title` or `/// note | Title`.

    The contents are parsed as if these lines did not exist, so nesting needs no state.
    """
    text = source_line(state, start).rstrip()
    if text[:3] not in (":::", "///") or len(text) > _HEADER_LENGTH or state.is_code_block(start):
        return False
    header = (_COLONS if text[0] == ":" else _SLASHES).fullmatch(text)
    if header is None:
        return False
    parts = header.groupdict(default="")
    if is_verbatim(parts.get("directive", "")):
        return _colon_fence(state, start, end, silent)
    if not silent:
        state.line = _after_options(state, start + 1, end, parts)
        push(state, "visible_text", start, _box_title(parts))
    return True


def _box_title(parts: dict[str, str]) -> str:
    title = _ATTRIBUTES.sub("", parts.get("label") or parts["title"]).strip(' \t"')
    if directive := parts.get("directive"):
        return title_of(directive, title)
    name = parts["name"]
    # mkdocstrings: `::: package.module` inserts the documentation of that object.
    return name if "." in name else lead_in(name, title)


def _after_options(state: StateBlock, line: int, end: int, parts: dict[str, str]) -> int:
    """The first line after the options: `:class: wide` below a directive, indented YAML below `///` and objects."""
    may_have_yaml = "directive" not in parts or "." in parts["name"]
    while line < end and not state.isEmpty(line):
        is_yaml = may_have_yaml and parts["name"] and state.sCount[line] - state.blkIndent >= 4
        is_option = parts.get("directive") and _OPTION.match(source_line(state, line))
        if not is_yaml and not is_option:
            break
        line += 1
    return line


def _admonition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`!!! note "Title"`, `??? note` and `=== "Tab"`, with an indented body."""
    text = source_line(state, start)
    if text[:3] not in ("!!!", "???", "===") or len(text) > _HEADER_LENGTH or state.is_code_block(start):
        return False
    header = _ADMONITION.fullmatch(text) or _TAB.fullmatch(text)
    if header is None or silent:
        return header is not None
    indent, last = state.sCount[start] + 4, start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    state.line = start + 1
    push(state, "visible_text", start, _admonition_title(header.groupdict(default="")))
    _parse_indented(state, start + 1, last, indent)
    return True


def _admonition_title(parts: dict[str, str]) -> str:
    """The line that introduces the box. An unquoted title is accepted too."""
    words = [word for word in parts.get("classes", "").split() if word not in _STYLES]
    return lead_in(parts.get("name", "tab"), parts["title"] or " ".join(words))


def _parse_indented(state: StateBlock, start: int, end: int, indent: int) -> None:
    saved = state.blkIndent, state.lineMax, state.parentType
    state.blkIndent, state.lineMax, state.parentType = indent, end, "admonition"
    state.push("indented_open", "", 1)
    state.md.block.tokenize(state, start, end)
    state.push("indented_close", "", -1)
    state.blkIndent, state.lineMax, state.parentType = saved
    state.line = end
