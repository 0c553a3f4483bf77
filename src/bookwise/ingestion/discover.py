"""A folder → the lessons of a book in reading order, and the files that were left out, with reasons."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from bookwise.domain.books import LessonFile, Module, SiteKind
from bookwise.domain.errors import BadLesson, BadSource, SourceNotFound
from bookwise.domain.jobs import SkippedFile, UnreadableFile
from bookwise.ingestion.discovery.admission import admit
from bookwise.ingestion.discovery.documents import document_names, facts_of, open_documents
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts, facts_from
from bookwise.ingestion.discovery.includes import MAX_INCLUDED_TEXT, with_includes
from bookwise.ingestion.discovery.mirrors import translations
from bookwise.ingestion.discovery.names import label, one_line, slug
from bookwise.ingestion.discovery.numbering import Numbered, Numbering, Unplaced, audience_of, number_lessons
from bookwise.ingestion.discovery.profile import MAX_FILE_BYTES, BookProfile, checked_book_id, completed, read_profile
from bookwise.ingestion.discovery.reading import read_inside, sha256
from bookwise.ingestion.discovery.sites import Site, detect_site
from bookwise.ingestion.discovery.sites.site import Listed, breadcrumb, reading_order, url_of
from bookwise.ingestion.discovery.walk import (
    Tree,
    asciidoc_note,
    document_note,
    format_of,
    single_file,
    source_names,
    walk,
)
from bookwise.ingestion.documents.document import MAX_DOCUMENT_BYTES, document_of, is_document
from bookwise.ingestion.documents.read import read_chapter
from bookwise.ingestion.parse import ParseOptions, parse
from bookwise.ingestion.parsing.decode import decode
from bookwise.ingestion.parsing.front_matter import split_front_matter

_FORMATS_ADVICE = (
    "Pass a folder with .md, .mdx, .qmd, .rst, .ipynb or .html files, one such file, or a .pdf or .epub file."
)

OnFile = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The contents of a folder. Every file that looks like a lesson is in `files`, `left_out` or `unreadable`."""

    profile: BookProfile
    book_id: str
    title: str
    base_url: str
    site: SiteKind
    modules: tuple[Module, ...]  #: those the book lists, then extra ones; empty when it lists none
    files: tuple[LessonFile, ...]  #: in reading order
    left_out: tuple[SkippedFile, ...]
    unreadable: tuple[UnreadableFile, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadFile:
    """A lesson that was read: its hash and front matter, or why it is unreadable."""

    name: str
    file_hash: str = ""
    facts: Facts = NO_FACTS
    is_blank: bool = False
    warning: str = ""  #: about files that it includes
    error: UnreadableFile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _BookSource:
    """A folder with its site and profile, before its lessons are read."""

    root: Path
    tree: Tree
    site: Site
    profile: BookProfile
    book_id: str
    mirrors: Mapping[str, str]  #: translated lessons → their originals
    listed: Mapping[str, Listed]  #: lessons of the navigation, by name

    @property
    def title(self) -> str:
        return self.profile.book.title or self.site.title or one_line(label(_name_of(self.root))) or self.book_id

    @property
    def base_url(self) -> str:
        return self.profile.book.base_url or self.site.base_url


def discover(root: Path, *, book_id: str | None = None, on_file: OnFile = lambda count: None) -> Discovery:
    """Finds and numbers the lessons of a book. `on_file` is called with the number of files read so far.

    The root is a folder, or one file that is the whole book.
    Raises `SourceNotFound` for a missing folder, `BadSource` for a folder without lessons, `InvalidInput` for a book
    id that is not allowed, and `Misconfigured` for a wrong `bookwise.toml`.
    """
    source = _open_source(root, book_id)
    lessons, left_out = _read_lessons(source, on_file)
    numbering = number_lessons([_unplaced(source, lesson) for lesson in lessons], source.profile)
    unreadable = _unreadable(source.tree, lessons, numbering)
    bad_names = {file.source_file for file in unreadable}
    files = [_lesson_file(source, one, numbering.positions[one.name]) for one in lessons if one.name not in bad_names]
    if not files and not unreadable:
        raise _no_lessons(source, left_out)
    extra_modules = (Module(name=name, title=label(name)) for name in numbering.extra_modules)
    return Discovery(
        profile=source.profile,
        book_id=source.book_id,
        title=_title(source, files),
        base_url=source.base_url,
        site=source.site.kind,
        modules=(*source.profile.module_list, *extra_modules),
        files=tuple(files),
        left_out=tuple(sorted(left_out, key=lambda file: file.source_file)),
        unreadable=unreadable,
        warnings=(
            *source.site.warnings,
            *_unsupported(source),
            *numbering.warnings,
            *(lesson.warning for lesson in lessons if lesson.warning),
        ),
    )


def _title(source: _BookSource, files: Sequence[LessonFile]) -> str:
    """The title of the book. Without one of its own, a book of one file has the title of its lesson."""
    if source.profile.book.title or source.site.title or not (source.root.is_file() and files):
        return source.title
    try:
        return one_line(parse(files[0], read_lesson(source.root, files[0])).title) or source.title
    except (BadLesson, RecursionError):  # the ingest reports it
        return source.title


def read_lesson(root: Path, file: LessonFile) -> bytes:
    """The bytes of a discovered lesson. Raises `BadLesson` with reason `changed` when the file has changed since."""
    root = _folder_of(root)
    document = document_of(file.source_file)
    if document is None:
        own = read_inside(root, _raw_path(root, file.source_file), MAX_FILE_BYTES)
        raw = with_includes(file.source_file, own, file.site, partial(_read_included, root)).raw
    else:
        whole = read_inside(root, _raw_path(root, document), MAX_DOCUMENT_BYTES)
        raw = read_chapter(file.source_file, document, whole)
    if sha256(raw) != file.file_hash:
        raise BadLesson(
            "changed", f"{file.source_file} has changed since it was discovered.", advice="Run the command again."
        )
    return raw


def parse_options(max_file_bytes: int) -> ParseOptions:
    """The limits of a lesson: those of its file, and room for the files that it includes."""
    return ParseOptions(max_bytes=max_file_bytes + 4 * MAX_INCLUDED_TEXT)  # a character has at most 4 bytes


def _read_included(root: Path, name: str) -> bytes:
    return read_inside(root, _raw_path(root, name), MAX_INCLUDED_TEXT)


def _folder_of(root: Path) -> Path:
    """The folder that source files are relative to: the book's folder, or the folder of a book of one file."""
    return root.resolve().parent if root.is_file() else root


def _name_of(root: Path) -> str:
    """The name of the folder, or of the file without its extension."""
    return root.resolve().stem if root.is_file() else root.resolve().name


def _tree(root: Path) -> Tree:
    advice = "Pass the folder that contains the lessons of the book, or one file."
    try:
        if root.is_file():
            return _single_file(root.resolve())
        with os.scandir(root):
            return walk(root)
    except NotADirectoryError as error:
        raise SourceNotFound(f"{root} is neither a folder nor a regular file.", advice=advice) from error
    except PermissionError as error:
        raise SourceNotFound(
            f"No permission to read the folder {root}.", advice="Change its permissions, or pass another folder."
        ) from error
    except (OSError, ValueError) as error:
        raise SourceNotFound(f"There is no folder {root}.", advice=advice) from error


def _single_file(path: Path) -> Tree:
    tree = single_file(path)
    if not any(format_of(name) or is_document(name) for name in tree.raw_paths):
        raise BadSource(f"{path} is not a lesson. {asciidoc_note(tree.raw_paths)}".rstrip(), advice=_FORMATS_ADVICE)
    return tree


def _open_source(root: Path, book_id: str | None) -> _BookSource:
    tree = _tree(root)
    # A bookwise.toml in the folder of a single file is about another book: all files of that folder.
    profile = BookProfile() if root.is_file() else read_profile(root)
    lesson_names = [name for name in tree.raw_paths if format_of(name)]
    mirrors = translations(lesson_names, profile.book.language)
    documents = [] if lesson_names else document_names(tree.raw_paths, profile)
    if documents:
        tree, site = open_documents(tree, documents)
    else:
        site = detect_site(tree, profile, frozenset(mirrors))
    default_id = profile.book.id or slug(site.title or _name_of(root))
    book_id = checked_book_id(default_id if book_id is None else book_id)
    return _BookSource(
        root=root,
        tree=tree,
        site=site,
        profile=completed(profile, book_id),
        book_id=book_id,
        mirrors=mirrors,
        listed=site.by_name(),
    )


def _read_lessons(source: _BookSource, on_file: OnFile) -> tuple[list[_ReadFile], list[SkippedFile]]:
    """The lessons in reading order, and all files that are left out."""
    tree = source.tree
    names, not_admitted = admit(tree, source.site, source.profile, source.mirrors)
    files = _read_all(source, names, on_file)
    if source.site.kind == "document":
        files = {name: replace(file, facts=facts_of(source.listed.get(name))) for name, file in files.items()}
    lessons, skipped = _in_order(source.site, files, tree.linked)
    return lessons, [*tree.left_out, *not_admitted, *skipped]


def _read_all(source: _BookSource, names: Sequence[str], on_file: OnFile) -> dict[str, _ReadFile]:
    files: dict[str, _ReadFile] = {}
    for name in names:
        files[name] = _read(source, name)
        on_file(len(files))
    return files


def _read(source: _BookSource, name: str) -> _ReadFile:
    tree, limit = source.tree, source.profile.limits.max_file_bytes
    try:
        own = tree.read(name, limit)
        lesson = with_includes(name, own, source.site.kind, partial(_read_included, tree.root))
        raw = lesson.raw
        facts = NO_FACTS
        if format_of(name) in ("markdown", "mdx", "rst"):
            text = decode(raw)
            if format_of(name) != "rst":
                facts = facts_from(split_front_matter(text)[0])
    except BadLesson as error:
        return _ReadFile(name=name, error=UnreadableFile(source_file=name, reason=error.reason, message=error.message))
    return _ReadFile(name=name, file_hash=sha256(raw), facts=facts, is_blank=not raw.strip(), warning=lesson.warning)


def _in_order(
    site: Site, files: Mapping[str, _ReadFile], linked: frozenset[str]
) -> tuple[list[_ReadFile], list[SkippedFile]]:
    """The lessons in reading order; drafts, unlisted pages and identical copies are left out."""
    lessons: list[_ReadFile] = []
    left_out: list[SkippedFile] = []
    facts = {name: file.facts for name, file in files.items()}
    ordered = [files[name] for name in reading_order(site, list(files), facts)]
    originals = _originals(ordered, linked)
    for lesson in ordered:
        original = originals.get(lesson.file_hash, lesson.name)
        if lesson.facts.is_draft:
            left_out.append(SkippedFile(source_file=lesson.name, rule="draft"))
        elif lesson.facts.is_unlisted and site.kind == "docusaurus":
            left_out.append(SkippedFile(source_file=lesson.name, rule="unlisted"))
        elif original != lesson.name:
            left_out.append(SkippedFile(source_file=lesson.name, rule="identical-copy", detail=f"of {original}"))
        else:
            lessons.append(lesson)
    return lessons, left_out


def _originals(ordered: Sequence[_ReadFile], linked: frozenset[str]) -> dict[str, str]:
    """Hash → the lesson to keep: the first in reading order, but a file before a link to it."""
    first: dict[str, str] = {}
    for lesson in sorted(ordered, key=lambda file: file.name in linked):
        # Empty files are separate lessons, not copies of each other.
        if lesson.file_hash and not lesson.is_blank:
            first.setdefault(lesson.file_hash, lesson.name)
    return first


def _unplaced(source: _BookSource, lesson: _ReadFile) -> Unplaced:
    listed = source.listed.get(lesson.name)
    return Unplaced(
        source_file=lesson.name,
        path=(listed.path if listed else "") or source.site.inner(lesson.name),
        facts=lesson.facts,
        group=listed.group if listed else "",
        leads_group=bool(listed and listed.leads_group),
        is_readable=lesson.error is None,
    )


def _unreadable(tree: Tree, lessons: Sequence[_ReadFile], numbering: Numbering) -> tuple[UnreadableFile, ...]:
    errors = [lesson.error for lesson in lessons if lesson.error]
    return tuple(sorted([*tree.unreadable, *errors, *numbering.unreadable], key=lambda file: file.source_file))


def _lesson_file(source: _BookSource, lesson: _ReadFile, numbered: Numbered) -> LessonFile:
    site, listed = source.site, source.listed.get(lesson.name)
    crumbs = listed.breadcrumb if listed else None
    return LessonFile(
        book_id=source.book_id,
        source_file=lesson.name,
        file_hash=lesson.file_hash,
        format=format_of(lesson.name) or "markdown",
        position=numbered.position,
        audience=audience_of(lesson.name, lesson.facts, source.profile),
        numbered=numbered.is_given,
        title=lesson.facts.title or (listed.title if listed else "") or None,
        url=(listed.url if listed else "") or url_of(site, source.base_url, lesson.name, lesson.facts),
        breadcrumb=breadcrumb(site, lesson.name) if crumbs is None else crumbs,
        site=site.kind,
    )


def _unsupported(source: _BookSource) -> list[str]:
    """Notes about files in formats that this book cannot contain."""
    names = list(source.tree.raw_paths)
    documents = "" if source.site.kind == "document" else document_note(names)
    return [note for note in (asciidoc_note(names), documents) if note]


def _no_lessons(source: _BookSource, left_out: Sequence[SkippedFile]) -> BadSource:
    rules = sorted({file.rule for file in left_out})
    reasons = f" Files were left out by these rules: {', '.join(rules)}." if rules else ""
    return BadSource(
        f"{source.root} contains no lessons.{reasons} {asciidoc_note(source.tree.raw_paths)}".rstrip(),
        advice=f"{_FORMATS_ADVICE} Or set book.docs in bookwise.toml.",
    )


def _raw_path(root: Path, source_file: str) -> bytes:
    """The path of a source file on disk. Names that were normalized or escaped are found by listing the folder."""
    plain = source_file.encode()
    if os.path.lexists(os.path.join(os.fsencode(root), plain)):
        return plain
    raw = b""
    for part in source_file.split("/"):
        try:
            names = source_names(os.listdir(os.path.join(os.fsencode(root), raw)))
        except OSError:
            return plain
        raw = os.path.join(raw, next((entry for entry, name in names.items() if name == part), part.encode()))
    return raw
