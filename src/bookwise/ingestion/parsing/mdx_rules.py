"""Block rules for markdown-it: components, expressions and statements of MDX."""

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock

from bookwise.ingestion.parsing.block_state import next_match, push, skip_until, source_line
from bookwise.ingestion.parsing.tags import brace_end, string_in_braces, tag_at

_TAG_LINES = 100
_STATEMENT_LINES = 500

_STATEMENT = re.compile(
    r"import\s*(?:[\w*{$][^'\"]*\bfrom\s*)?['\"]|import\s*(?:[\w$]+\s*,\s*)?\{[^}'\"]*$|"
    r"export\s+(?:default\b|const\s|let\s|var\s|function\b|class\s|async\s|type\s|interface\s|\{|\*)"
)
_IMPORTED = re.compile(r"['\"]\s*;?\s*$")
_BRACKETS = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`|//.*|[{}()\[\]]")
_QUIZ = re.compile(r"<(?P<name>\w*Quiz\w*|MCQ\w*|KnowledgeCheck\w*|MultipleChoice\w*|Flashcards?)(?=[\s/>]|$)")


def quiz(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A quiz component with everything in it: its questions and wrong options are not statements of the book."""
    position = state.bMarks[start] + state.tShift[start]
    opening = _QUIZ.match(state.src, position, state.eMarks[start])
    close = _component_end(state, position, opening["name"]) if opening else -1
    return skip_until(state, start, close, silent=silent)


def _component_end(state: StateBlock, position: int, name: str) -> int:
    """The position after `/>` or the closing tag; -1 when there is none. Attributes may contain blank lines."""
    tag = tag_at(state.src, position)
    if tag is not None and tag.source.endswith("/>"):
        return tag.end
    # A tag that is too long to be read ends at the next line with nothing but its end.
    return next_match(state, rf"</{name}\s*>" if tag else r"(?m)^\s*[\]})]*\s*/>", position)[1]


def jsx_tags(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Lines that contain only tags. A tag may span several lines, unless it would interrupt a paragraph."""
    text = source_line(state, start)
    if not text.startswith("<"):
        return False
    tags = _only_tags(text)
    if tags is None and not silent:
        tags = _only_tags(_paragraph(state, start, end))
    if tags is None or silent:
        return tags is not None
    words, line_breaks = tags
    state.line = start + 1 + line_breaks
    push(state, "visible_text", start, words)
    return True


def _paragraph(state: StateBlock, start: int, end: int) -> str:
    last = start + 1
    while last < min(end, start + _TAG_LINES) and not state.isEmpty(last):
        last += 1
    return "\n".join(source_line(state, line) for line in range(start, last))


def _only_tags(text: str) -> tuple[str, int] | None:
    """The visible words of the tags in the first lines, and the number of line breaks; None if there is other text."""
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


def expression(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """An MDX paragraph that is a single expression or comment in braces: code, not text."""
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
    push(state, "visible_text", start, "")
    return True


def _brace_comment(state: StateBlock, start: int) -> bool:
    _, close = next_match(state, r"\*/\s*\}", state.bMarks[start] + state.tShift[start])
    last = bisect_left(state.eMarks, close, start, state.lineMax)
    if close < 0 or last >= state.lineMax or state.src[close : state.eMarks[last]].strip():
        return False
    state.line = last + 1
    push(state, "visible_text", start, "")
    return True


def statement(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """`import` and `export` statements of MDX, without indentation only."""
    if silent or state.level or state.sCount[start] or not _STATEMENT.match(source_line(state, start)):
        return False
    state.line = _statement_end(state, start, end)
    return True


def _statement_end(state: StateBlock, start: int, end: int) -> int:
    """The line after a statement. An import ends with its quoted source, an export at a blank line outside brackets.
    After unbalanced brackets, every statement of the lesson ends at the next blank line."""
    blank = start + 1
    while blank < end and not state.isEmpty(blank):
        blank += 1
    reach = blank if state.env.get("unbalanced") else min(end, start + _STATEMENT_LINES)
    is_import, depth = source_line(state, start).startswith("import"), 0
    for line in range(start, reach):
        text = source_line(state, line)
        if not text and depth <= 0:
            return line
        depth += sum((b in "{([") - (b in "})]") for b in _BRACKETS.findall(text) if len(b) == 1)
        if is_import and depth <= 0 and _IMPORTED.search(text):
            return line + 1
    if depth > 0:
        state.env["unbalanced"] = True
    return reach if depth <= 0 and reach == end else blank
