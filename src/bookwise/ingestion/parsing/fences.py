"""Content of a code block → a fenced block with its language."""

import re

from bookwise.domain.books import Block

LONG_CODE = 1000  #: characters from which code inside a list becomes a block of its own

_LANGUAGE = re.compile(r"\{?[\s.]*([^\s,{}:.]+)")


def code_block(content: str, *, info: str = "", language: str | None = None, fence: str = "") -> Block:
    """The code between fences that nothing inside can close. The language is the first word of `info`."""
    if not fence or fence[0] not in "`~":
        longest = max((len(run) for run in re.findall("`{3,}", content)), default=2)
        fence = "`" * (longest + 1)
    if content and not content.endswith("\n"):
        content += "\n"
    found = _LANGUAGE.match(info)
    named = language if language is not None else found[1].lower() if found else ""
    return Block(kind="code", text=f"{fence}{info}\n{content}{fence}", language=named)
