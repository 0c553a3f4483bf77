"""A folder → the names of its files. Links out of the folder are not followed; pipes and devices are not opened."""

import errno
import os
import stat
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote_from_bytes

from bookwise.domain.books import LessonFormat
from bookwise.domain.errors import BadLesson
from bookwise.domain.jobs import SkippedFile, UnreadableFile
from bookwise.ingestion.discovery.reading import is_inside, read_inside
from bookwise.ingestion.documents.document import document_of, is_document
from bookwise.ingestion.parsing.decode import decode
from bookwise.text.plurals import plural

FORMATS: dict[str, LessonFormat] = {
    "md": "markdown",
    "markdown": "markdown",
    "mdx": "mdx",
    "rst": "rst",
    "ipynb": "notebook",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "qmd": "markdown",
}
MAX_SITE_FILE_BYTES = 4 * 1024 * 1024

_PACKAGES = dict.fromkeys(
    ("node_modules", "bower_components", "site-packages", "__pycache__", "_build", "_site", "_book", "venv"),
    "installed packages or build output",
)
# Next to project files these folders are build output; elsewhere, `build/` may be a chapter.
_OUTPUTS = frozenset({"build", "dist", "target", "out"})
_PROJECT_FILES = frozenset(
    {
        "mkdocs.yml",
        "mkdocs.yaml",
        "book.toml",
        "conf.py",
        "_toc.yml",
        "myst.yml",
        "package.json",
        "Cargo.toml",
    }
)
# Next to the files of a program, these folders hold no lessons; elsewhere, `tests/` may be a chapter.
_PROGRAM_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "vendor", "third_party"})
_PROGRAM_FILES = frozenset(
    {
        "package.json",
        "pyproject.toml",
        "setup.py",
        "Cargo.toml",
        "go.mod",
        "pom.xml",
        "build.gradle",
        "composer.json",
        "CMakeLists.txt",
    }
)
#: Not part of any book; `.bookwise` is the data folder.
_UNREPORTED_FOLDERS = frozenset({".git", ".hg", ".svn", "__pycache__", ".bookwise"})
_BIDI_AND_LINE_CONTROLS = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def format_of(name: str) -> LessonFormat | None:
    """The format by file extension; None when the file cannot be a lesson. Chapters of a document are HTML."""
    if document_of(name):
        return "html"
    return FORMATS.get(name.rpartition(".")[2].lower()) if "." in name else None


def document_note(names: Iterable[str]) -> str:
    """What to do about PDF and EPUB files next to lessons; empty when there are none."""
    files = [name for name in names if is_document(name)]
    if not files:
        return ""
    return (
        f"{files[0]}{_and_more(files)}: PDF and EPUB files next to lessons are not part of the book and were left out. "
        f"To use one, ingest it as a book: `bookwise ingest {files[0]}`."
    )


def _and_more(files: Sequence[str]) -> str:
    return f" and {len(files) - 1} more" if len(files) > 1 else ""


def asciidoc_note(names: Iterable[str]) -> str:
    """What to do about AsciiDoc files, for which there is no reader; empty when there are none."""
    files = [name for name in names if name.lower().endswith((".adoc", ".asciidoc"))]
    if not files:
        return ""
    return (
        f"AsciiDoc is not supported: {plural(len(files), 'file')} left out, such as {files[0]}. Build the site "
        "(Antora) or convert the files with `asciidoctor` to HTML, then ingest the folder of HTML pages."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The files of a book by name, and what was left out."""

    root: Path
    raw_paths: dict[str, bytes]  #: name → path on disk, relative to the root
    chapters: Mapping[str, bytes] = field(default_factory=dict)  #: name → content, of chapters of documents
    linked: frozenset[str] = frozenset()  #: names that are reached through a link
    left_out: tuple[SkippedFile, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()

    def has(self, name: str) -> bool:
        return name in self.raw_paths

    def read(self, name: str, limit: int) -> bytes:
        chapter = self.chapters.get(name)
        return read_inside(self.root, self.raw_paths[name], limit) if chapter is None else chapter

    def text(self, name: str, limit: int = MAX_SITE_FILE_BYTES) -> str:
        """A configuration file as text; empty when it is missing or unreadable."""
        if name not in self.raw_paths:
            return ""
        try:
            return decode(self.read(name, limit))
        except BadLesson:
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    raw: bytes
    name: str
    real: bytes
    linked: bool = False


@dataclass(slots=True)
class _Walk:
    """The state of one walk. A real folder is entered once directly and at most once through a link."""

    root: bytes
    raw_paths: dict[str, bytes] = field(default_factory=dict)
    linked: set[str] = field(default_factory=set)
    left_out: list[SkippedFile] = field(default_factory=list)
    unreadable: list[UnreadableFile] = field(default_factory=list)
    entered_by_link: set[bytes] = field(default_factory=set)

    def enter(self, folder: _Folder) -> Iterator[_Folder]:
        try:
            with os.scandir(os.path.join(self.root, folder.raw)) as scan:
                entries = {entry.name: entry for entry in scan}
        except OSError as error:
            reason = "permission" if isinstance(error, PermissionError) else "unreadable"
            message = f"The folder {folder.name} cannot be read: {error.strerror}."
            self.unreadable.append(UnreadableFile(source_file=folder.name, reason=reason, message=message))
            return
        ignored = _ignored_folders(entries, is_root=not folder.raw)
        for raw, name in source_names(entries).items():
            child = _Folder(
                raw=os.path.join(folder.raw, raw),
                name=folder.name + name,
                real=os.path.join(folder.real, raw),
                linked=folder.linked,
            )
            if entries[raw].is_symlink():
                yield from self._link(child)
            elif entries[raw].is_dir(follow_symlinks=False):
                yield from self._folder(child, name, ignored)
            else:
                self._file(child, is_regular=entries[raw].is_file(follow_symlinks=False))

    def _folder(self, child: _Folder, name: str, ignored: Mapping[str, str]) -> Iterator[_Folder]:
        reason = "a hidden folder" if name.startswith(".") else ignored.get(name, "")
        if format_of(name) or is_document(name):
            self._leave_out(child.name + "/", "not-a-file", "a folder named like a lesson")
        elif reason:
            if name not in _UNREPORTED_FOLDERS:
                self._leave_out(child.name + "/", "not-a-lesson", reason)
        elif not child.linked or child.real not in self.entered_by_link:
            if child.linked:
                self.entered_by_link.add(child.real)
            yield _Folder(raw=child.raw, name=child.name + "/", real=child.real, linked=child.linked)

    def _file(self, child: _Folder, *, is_regular: bool) -> None:
        if is_regular:
            self.raw_paths[child.name] = child.raw
            if child.linked:
                self.linked.add(child.name)
        elif format_of(child.name):
            self._leave_out(child.name, "not-a-file", "a pipe, socket or device")

    def _link(self, child: _Folder) -> Iterator[_Folder]:
        try:
            real = os.path.realpath(os.path.join(self.root, child.raw), strict=True)
            mode = os.stat(real).st_mode
        except OSError as error:
            rule = "symlink-loop" if error.errno == errno.ELOOP else "broken-link"
            if rule == "symlink-loop" or format_of(child.name):
                self._leave_out(child.name, rule, "")
            return
        if not is_inside(real, self.root):
            if stat.S_ISDIR(mode) or format_of(child.name):
                self._leave_out(child.name, "symlink-outside", "links to a target outside the book's folder")
        elif not stat.S_ISDIR(mode):
            self._file(replace(child, linked=True), is_regular=stat.S_ISREG(mode))
        elif is_inside(child.real, real) or real in self.entered_by_link:
            self._leave_out(child.name + "/", "symlink-loop", "links to a folder that is already read")
        else:
            target = _Folder(raw=child.raw, name=child.name, real=real, linked=True)
            yield from self._folder(target, child.name.rpartition("/")[2], _PACKAGES)

    def _leave_out(self, name: str, rule: str, detail: str) -> None:
        self.left_out.append(SkippedFile(source_file=name, rule=rule, detail=detail))


def walk(root: Path) -> Tree:
    """All files below the root, except in folders for packages, build output and hidden files."""
    real = os.path.realpath(os.fsencode(root))
    state = _Walk(root=real)
    direct = [_Folder(raw=b"", name="", real=real)]
    linked: deque[_Folder] = deque()
    while direct or linked:
        for folder in list(state.enter(direct.pop() if direct else linked.popleft())):
            (linked if folder.linked else direct).append(folder)
    return Tree(
        root=root,
        raw_paths=dict(sorted(state.raw_paths.items())),
        linked=frozenset(state.linked),
        left_out=tuple(sorted(state.left_out, key=lambda file: file.source_file)),
        unreadable=tuple(sorted(state.unreadable, key=lambda file: file.source_file)),
    )


def single_file(path: Path) -> Tree:
    """A book of one file. Its neighbours in the folder are not part of it."""
    raw = os.fsencode(path.name)
    return Tree(root=path.parent, raw_paths={source_names([raw])[raw]: raw})


def _ignored_folders(entries: Iterable[bytes], *, is_root: bool) -> Mapping[str, str]:
    """The folders that are not entered next to these entries, with the reasons."""
    names = {os.fsdecode(raw) for raw in entries}
    is_project = is_root or any(name in _PROJECT_FILES or name.startswith("docusaurus.config.") for name in names)
    outputs = dict.fromkeys(_OUTPUTS, "build output") if is_project else {}
    is_program = not names.isdisjoint(_PROGRAM_FILES)
    tests = dict.fromkeys(_PROGRAM_FOLDERS, "tests or third-party code of a program") if is_program else {}
    return {**tests, **outputs, **_PACKAGES}


def source_names(raws: Iterable[bytes]) -> dict[bytes, str]:
    """Unique, printable names in Unicode NFC for the entries of one folder.

    A name that is already clean is not changed. A name that cannot be decoded, or whose NFC form is in use by another
    entry, is percent-escaped.
    """
    ordered = sorted(raws)
    clean = {raw: text for raw in ordered if (text := _decode_name(raw)) is not None}
    names = {raw: text for raw, text in clean.items() if text.encode() == raw}
    in_use = set(names.values())
    for raw in ordered:
        if raw not in names:
            name = clean.get(raw) or _escape(raw)
            while name in in_use:
                raw_form = raw if raw in clean and name == clean[raw] else name.encode()
                name = _escape(raw_form)
            names[raw] = name
            in_use.add(name)
    return {raw: names[raw] for raw in ordered}


def _escape(raw: bytes) -> str:
    return quote_from_bytes(raw, safe=" !#$&'()*+,;=@[]{}^`|~")


def _decode_name(raw: bytes) -> str | None:
    """The name in NFC; None when it is not UTF-8 or contains characters that can confuse a terminal."""
    try:
        text = unicodedata.normalize("NFC", raw.decode())
    except UnicodeDecodeError:
        return None
    harmful = any(unicodedata.category(c) == "Cc" or c in _BIDI_AND_LINE_CONTROLS for c in text)
    return None if harmful else text
