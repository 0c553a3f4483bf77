"""A lesson → the same with the files that it includes, so that their text is found and a change is noticed."""

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from bookwise.domain.books import SiteKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import folder_of, one_line
from bookwise.ingestion.parsing.decode import decode
from bookwise.ingestion.parsing.include_statements import Include, IncludeSyntax, include_syntaxes
from bookwise.text.plurals import plural

MAX_DEPTH = 5
MAX_INCLUDES = 200  #: in one lesson, with those in included files
MAX_INCLUDED_TEXT = 4 * 1024 * 1024  #: characters in one lesson

_REASONS = {"changed": "there is no such file in the book's folder.", "encoding": "it is not text in UTF-8."}

ReadFile = Callable[[str], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpandedLesson:
    """The bytes of a lesson with what it includes, and the warning about includes that were left out."""

    raw: bytes
    warning: str = ""


def with_includes(name: str, raw: bytes, site: SiteKind, read: ReadFile) -> ExpandedLesson:
    """The lesson with each include statement replaced by the file that it names, or by a part of that file.

    A file that is missing, outside the book's folder, hidden, not text or too large is left out with a warning: its
    statement stays, and the parser drops it. `read` gets names relative to the book's folder and raises `BadLesson`.
    """
    syntaxes = include_syntaxes(name, site)
    try:
        text = decode(raw) if syntaxes else ""
    except BadLesson:
        return ExpandedLesson(raw=raw)  # the lesson is reported as unreadable
    expansion = _Expansion(read=read, syntaxes=syntaxes)
    expanded = expansion.expand((name,), text)
    warning = _warning(name, expansion.left_out, expansion.count)
    return ExpandedLesson(raw=raw if expanded == text else expanded.encode(), warning=warning)


def _warning(name: str, left_out: list[tuple[Include, str]], count: int) -> str:
    if not left_out:
        return ""
    include, reason = left_out[0]
    which = f"{len(left_out)} of {plural(count, 'include')}" if count > 1 else "1 include"
    verb = "was" if len(left_out) == 1 else "were"
    first = "It is" if len(left_out) == 1 else "The first is"
    return f"{name}: {which} {verb} left out. {first} {one_line(include.paths[0], 200)}: {reason}"


class _LeftOutError(Exception):
    """Why a file was not included, as a sentence."""


@dataclass(slots=True, kw_only=True)
class _Expansion:
    """The expansion of one lesson."""

    read: ReadFile
    syntaxes: tuple[IncludeSyntax, ...]
    count: int = 0  #: includes of other text; references to pages are not counted here
    lookups: int = 0
    size: int = 0
    left_out: list[tuple[Include, str]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)

    def expand(self, chain: tuple[str, ...], text: str) -> str:
        """The text of the last file of the chain, which the files before it include."""
        syntaxes = (syntax for syntax in self.syntaxes if syntax.mark in text)
        found = [(match, syntax) for syntax in syntaxes for match in syntax.pattern.finditer(text)]
        output: list[str] = []
        copied = 0
        for match, syntax in sorted(found, key=lambda pair: pair[0].start()):
            includes = syntax.read(match) if match.start() >= copied else []
            if includes:
                indent = match.groupdict().get("indent") or ""
                shown = "\n".join(self._included(chain, include, indent) for include in includes)
                output += (text[copied : match.start()], _indented(shown, indent, is_source=shown == match[0]))
                copied = match.end()
        return "".join((*output, text[copied:]))

    def _included(self, chain: tuple[str, ...], include: Include, indent: str) -> str:
        self.count += not include.is_reference
        self.lookups += 1
        try:
            text = include.render(self._text(chain, include))
            self._count_text(len(indent) * text.count("\n"))
            return text
        except _LeftOutError as error:
            if not include.is_reference:
                self.left_out.append((include, str(error)))
            return include.source

    def _text(self, chain: tuple[str, ...], include: Include) -> str:
        if not include.is_supported:
            raise _LeftOutError("Bookwise cannot read this kind of include.")
        if self.lookups > MAX_INCLUDES or len(chain) > MAX_DEPTH:
            raise _LeftOutError(f"a lesson has at most {MAX_INCLUDES} includes, up to {MAX_DEPTH} levels deep.")
        self._count_text(0)  # nothing is read once the limit is reached
        target, text = self._first_file(chain[-1], include)
        if target in chain and not include.is_reference:
            raise _LeftOutError("the file includes itself.")
        part = include.part(text)
        if part is None:
            raise _LeftOutError("the file has no such part.")
        self._count_text(len(part))
        part = part.rstrip("\n")
        return part if include.is_reference else self.expand((*chain, target), part)

    def _count_text(self, size: int) -> None:
        self.size += size
        if self.size > MAX_INCLUDED_TEXT:
            raise _LeftOutError(f"a lesson includes at most {MAX_INCLUDED_TEXT:,} characters.")

    def _first_file(self, name: str, include: Include) -> tuple[str, str]:
        """The first of the files that the statement may mean, and its text."""
        reason = "it is outside the book's folder, or hidden."
        for target in _targets(name, include):
            try:
                if target not in self.texts:
                    self.texts[target] = decode(self.read(target))
                return target, self.texts[target]
            except BadLesson as error:
                reason = _REASONS.get(error.reason, error.message)
        raise _LeftOutError(reason)


def _indented(text: str, indent: str, *, is_source: bool) -> str:
    """The lines of the text with the indent of the statement, so that a list or a fence continues."""
    return text if is_source else "\n".join(f"{indent}{line}" if line else line for line in text.split("\n"))


def _targets(name: str, include: Include) -> Iterator[str]:
    """The names of the files that a path may mean: only visible ones in the book's folder."""
    for path in include.paths:
        folder = "" if path.startswith("/") and not include.searches_up else folder_of(name)
        while True:
            target = posixpath.normpath(folder + path.lstrip("/"))
            if not any(part.startswith(".") for part in target.split("/")):
                yield target
            if not include.searches_up or not folder:
                break
            folder = folder_of(folder.rstrip("/"))
