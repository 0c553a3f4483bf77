"""Fenced code: where it is in a text, and code → a fenced block with its language."""

import re

from bookwise.domain.books import Block

LONG_CODE = 1000  #: characters; longer code inside a list becomes a separate block

#: The opening line of fenced code: what precedes the fence, the fence, the info string.
FENCE = re.compile(r"([\s>]*)(`{3,}(?=[^`]*\Z)|~{3,})(.*)")

_LANGUAGE = re.compile(r"\{?[\s.]*([^\s,{}:.]+)")


def code_block(content: str, *, info: str = "", language: str | None = None, fence: str = "") -> Block:
    """The code in a fence that the code cannot close. The language is the first word of `info`."""
    if not fence or fence[0] not in "`~":
        longest = max((len(run) for run in re.findall("`{3,}", content)), default=2)
        fence = "`" * (longest + 1)
    if content and not content.endswith("\n"):
        content += "\n"
    if language is None:
        match = _LANGUAGE.match(info)
        language = match[1].lower() if match else ""
    return Block(kind="code", text=f"{fence}{info}\n{content}{fence}", language=language)


def fence_end(lines: list[str], start: int, fence: str) -> int:
    """The index of the closing line; after the last line when there is none."""
    for index in range(start + 1, len(lines)):
        text = lines[index].strip(" \t>")
        if text.startswith(fence) and not text.strip(fence[0]):
            return index
    return len(lines)
