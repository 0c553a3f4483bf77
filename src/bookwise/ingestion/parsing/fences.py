"""Fenced code: where it is in a text, and code → a fenced block with its language."""

import re
from collections.abc import Callable, Iterable, Iterator

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
        language = language_in(info)
    return Block(kind="code", text=f"{fence}{info}\n{content}{fence}", language=language)


def language_in(info: str) -> str:
    """The language of the code: the first word after a fence, as in `rust,ignore` or `{.python .input}`."""
    match = _LANGUAGE.match(info)
    return match[1].lower() if match else ""


def change_code(text: str, change: Callable[[str, list[str]], Iterable[str]]) -> str:
    """The text with the lines that `change` returns for the info string and the lines of each fenced code."""
    return "\n".join(_changed(text.split("\n"), change)) if "```" in text or "~~~" in text else text


def _changed(lines: list[str], change: Callable[[str, list[str]], Iterable[str]]) -> Iterator[str]:
    index = 0
    while index < len(lines):
        fence = FENCE.fullmatch(lines[index])
        end = fence_end(lines, index, fence[2]) if fence else index
        yield lines[index]
        if fence:
            yield from change(fence[3], lines[index + 1 : end])
            yield from lines[end : end + 1]
        index = end + 1


def fence_end(lines: list[str], start: int, fence: str) -> int:
    """The index of the closing line; after the last line when there is none."""
    for index in range(start + 1, len(lines)):
        text = lines[index].strip(" \t>")
        if text.startswith(fence) and not text.strip(fence[0]):
            return index
    return len(lines)
