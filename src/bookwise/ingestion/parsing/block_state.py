"""Helpers for block rules on the parser state of markdown-it."""

import re
from bisect import bisect_left

from markdown_it.rules_block import StateBlock


def source_line(state: StateBlock, line: int) -> str:
    """A line without the markup and indentation of its enclosing blocks."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def push(state: StateBlock, kind: str, start: int, content: str) -> None:
    """Adds a token for the lines from `start` to the current one."""
    token = state.push(kind, "", 0)
    token.map = [start, state.line]
    token.content = content
    token.info = source_line(state, start)


def next_match(state: StateBlock, pattern: str, position: int) -> tuple[int, int]:
    """The span of the next match, or (-1, -1). The last result is cached: many openings that share one closing mark
    cost one search."""
    searched_from, start, end = state.env.get(pattern, (0, -2, -2))
    if start == -2 or position < searched_from or (-1 < start < position):
        match = re.compile(pattern).search(state.src, position)
        searched_from, (start, end) = position, match.span() if match else (-1, -1)
        state.env[pattern] = (searched_from, start, end)
    return start, end


def skip_until(state: StateBlock, start: int, close: int, *, silent: bool) -> bool:
    """Leaves out everything up to the position `close`; the rest of its line stays. False: there is no such line."""
    last = bisect_left(state.eMarks, close, start, state.lineMax)
    if close < 0 or last >= state.lineMax:
        return False
    if not silent:
        state.line = last + 1
        push(state, "visible_text", start, state.src[close : state.eMarks[last]].strip())
    return True
