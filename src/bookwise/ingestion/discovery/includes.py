"""A Quarto lesson → the same with the files that it includes, so that their text is found and a change is noticed."""

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import folder_of

MAX_DEPTH = 5
MAX_INCLUDES = 200  #: in one lesson, with those in included files

_INCLUDE = re.compile(rb"(?m)^[ \t]*\{\{<\s*include\s+[\"']?([^\s\"'<>]+)[\"']?\s*>\}\}[ \t]*$")

ReadFile = Callable[[str], bytes]


def with_includes(name: str, raw: bytes, read: ReadFile) -> bytes:
    """The bytes with `{{< include part.qmd >}}` replaced by that file. A file that cannot be read is left out."""
    if not name.lower().endswith(".qmd") or b"include" not in raw:
        return raw
    return _Expansion(read=read).expand(name, raw, 0)


@dataclass(slots=True, kw_only=True)
class _Expansion:
    """The expansion of one lesson."""

    read: ReadFile
    count: int = 0

    def expand(self, name: str, raw: bytes, depth: int) -> bytes:
        return _INCLUDE.sub(lambda match: self._included(name, match[1], depth), raw) if depth < MAX_DEPTH else raw

    def _included(self, name: str, reference: bytes, depth: int) -> bytes:
        self.count += 1
        path = reference.decode("utf-8", "replace")
        target = path.lstrip("/") if path.startswith("/") else posixpath.normpath(folder_of(name) + path)
        if self.count > MAX_INCLUDES or target.startswith(".."):
            return b""
        try:
            return self.expand(target, self.read(target), depth + 1)
        except BadLesson:
            return b""
