"""markdown-it's block state → what block rules ask of it."""

import re

from markdown_it.rules_block import StateBlock


def source_line(state: StateBlock, line: int) -> str:
    """A line without the markup and indentation of what it stands in."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def push(state: StateBlock, kind: str, start: int, content: str) -> None:
    token = state.push(kind, "", 0)
    token.map = [start, state.line]
    token.content = content
    token.info = source_line(state, start)


def next_match(state: StateBlock, pattern: str, position: int) -> tuple[int, int]:
    """Where the pattern is found next, (-1, -1) for nowhere. The last answer is remembered: many openings
    that wait for one closing mark cost one search."""
    asked, start, end = state.env.get(pattern, (0, -2, -2))
    if start == -2 or position < asked or (-1 < start < position):
        found = re.compile(pattern).search(state.src, position)
        asked, (start, end) = position, found.span() if found else (-1, -1)
        state.env[pattern] = (asked, start, end)
    return start, end
