"""Globs for source files: `*` and `?` match within a folder, `**` matches any number of folders."""

from collections.abc import Callable, Iterable, Sequence


def matches(glob: str, source_file: str) -> bool:
    """Whether the glob matches the whole path. `drafts/` matches everything below `drafts`."""
    glob = glob.removeprefix("./").removeprefix("/")
    if glob.endswith("/"):
        glob += "**"
    return _fits(glob.split("/"), source_file.split("/"), star="**", same=_same_name)


def matches_any(globs: Iterable[str], source_file: str) -> bool:
    """Whether at least one of the globs matches."""
    return any(matches(glob, source_file) for glob in globs)


def _same_name(pattern: str, name: str) -> bool:
    return _fits(pattern, name, star="*", same=lambda expected, character: expected in ("?", character))


def _fits(pattern: Sequence[str], items: Sequence[str], *, star: str, same: Callable[[str, str], bool]) -> bool:
    """Wildcard match that backtracks only to the last star, so its cost is at most pattern × items."""
    p = i = 0
    last_star, resume = -1, 0
    while i < len(items):
        if p < len(pattern) and pattern[p] == star:
            last_star, resume, p = p, i, p + 1
        elif p < len(pattern) and same(pattern[p], items[i]):
            p, i = p + 1, i + 1
        elif last_star >= 0:
            p, resume = last_star + 1, resume + 1
            i = resume
        else:
            return False
    return all(part == star for part in pattern[p:])
