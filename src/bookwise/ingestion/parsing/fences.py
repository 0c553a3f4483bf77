"""Code → a fenced code block with its language."""

import re

from bookwise.domain.books import Block

LONG_CODE = 1000  #: characters; longer code inside a list becomes a separate block

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
