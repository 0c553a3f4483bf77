"""A folder → the lessons of a book, in reading order, and everything that was left out, with reasons."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bookwise.domain.books import LessonFile, SiteKind
from bookwise.domain.errors import BadLesson, BadSource, SourceNotFound
from bookwise.domain.jobs import SkippedFile, UnreadableFile
from bookwise.ingestion.discovery.admission import admit
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts, facts_from
from bookwise.ingestion.discovery.mirrors import translations
from bookwise.ingestion.discovery.names import label, one_line, slug
from bookwise.ingestion.discovery.numbering import Numbered, Numbering, Unplaced, audience_of, number_lessons
from bookwise.ingestion.discovery.profile import MAX_FILE_BYTES, BookProfile, checked_book_id, completed, read_profile
from bookwise.ingestion.discovery.reading import read_inside, sha256
from bookwise.ingestion.discovery.sites import Site, detect_site
from bookwise.ingestion.discovery.sites.site import Listed, breadcrumb, reading_order, url_of
from bookwise.ingestion.discovery.walk import Tree, format_of, source_names, walk
from bookwise.ingestion.parsing.decode import decode
from bookwise.ingestion.parsing.front_matter import split_front_matter

OnFile = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """What a folder holds. Every file that looks like a lesson is in exactly one of the three lists."""

    profile: BookProfile
    book_id: str
    title: str
    base_url: str
    site: SiteKind
    files: tuple[LessonFile, ...]  #: in reading order
    left_out: tuple[SkippedFile, ...]
    unreadable: tuple[UnreadableFile, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ReadFile:
    """A lesson that was read once: its hash and facts, or what is wrong with it."""

    name: str
    file_hash: str = ""
    facts: Facts = NO_FACTS
    is_blank: bool = False
    broken: UnreadableFile | None = None


def discover(root: Path, *, book_id: str | None = None, on_file: OnFile = lambda count: None) -> Discovery:
    """Reads every file of the book once; `on_file` hears how many. `BadSource` when there is no lesson."""
    profile = read_profile(_book_folder(root))
    tree = walk(root)
    looks_like = [name for name in tree.raw_paths if format_of(name)]
    mirrors = translations(looks_like, profile.book.language)
    site = detect_site(tree, profile, frozenset(mirrors))
    found_id = profile.book.id or slug(site.title or root.resolve().name)
    chosen_id = checked_book_id(found_id if book_id is None else book_id)
    profile = completed(profile, chosen_id)
    names, left_out = admit(tree, site, profile, mirrors)
    read = _read_all(tree, names, profile.limits.max_file_bytes, on_file)
    lessons, set_aside = _in_order(site, read, tree.linked)
    listed = site.by_name()
    unplaced = [_unplaced(site, lesson, listed.get(lesson.name)) for lesson in lessons]
    numbering = number_lessons(unplaced, profile)
    found = Discovery(
        profile=profile,
        book_id=chosen_id,
        title=profile.book.title or site.title or one_line(label(root.resolve().name)) or chosen_id,
        base_url=profile.book.base_url or site.base_url,
        site=site.kind,
        files=(),
        left_out=tuple(sorted([*tree.left_out, *left_out, *set_aside], key=lambda left: left.source_file)),
        unreadable=_unreadable(tree, lessons, numbering),
        warnings=(*site.warnings, *numbering.warnings),
    )
    broken = {one.source_file for one in found.unreadable}
    files = tuple(
        _lesson_file(found, site, lesson, listed.get(lesson.name), numbering.positions[lesson.name])
        for lesson in lessons
        if lesson.name not in broken
    )
    return _with_lessons(replace(found, files=files), root)


def read_lesson(root: Path, file: LessonFile) -> bytes:
    """The lesson's bytes again; `BadLesson("changed")` when they are not those that were discovered."""
    raw = read_inside(root, _raw_path(root, file.source_file), MAX_FILE_BYTES)
    if sha256(raw) != file.file_hash:
        raise BadLesson("changed", f"{file.source_file} has changed since it was discovered.", advice="Run again.")
    return raw


def _book_folder(root: Path) -> Path:
    advice = "Name the folder that holds the lessons of the book."
    try:
        with os.scandir(root):
            return root
    except NotADirectoryError as error:
        raise SourceNotFound(f"{root} is not a folder.", advice=advice) from error
    except PermissionError as error:
        raise SourceNotFound(
            f"The folder {root} may not be read.", advice="Allow reading it, or name another."
        ) from error
    except (OSError, ValueError) as error:
        raise SourceNotFound(f"There is no folder {root}.", advice=advice) from error


def _read_all(tree: Tree, names: Sequence[str], limit: int, on_file: OnFile) -> dict[str, _ReadFile]:
    read: dict[str, _ReadFile] = {}
    for name in names:
        read[name] = _read(tree, name, limit)
        on_file(len(read))
    return read


def _read(tree: Tree, name: str, limit: int) -> _ReadFile:
    try:
        raw = tree.read(name, limit)
        facts = NO_FACTS
        if format_of(name) in ("markdown", "mdx", "rst"):
            text = decode(raw)
            if format_of(name) != "rst":
                facts = facts_from(split_front_matter(text)[0])
    except BadLesson as error:
        return _ReadFile(name=name, broken=UnreadableFile(source_file=name, reason=error.reason, message=error.message))
    return _ReadFile(name=name, file_hash=sha256(raw), facts=facts, is_blank=not raw.strip())


def _in_order(
    site: Site, read: Mapping[str, _ReadFile], linked: frozenset[str]
) -> tuple[list[_ReadFile], list[SkippedFile]]:
    """Reading order, without drafts and without second copies of the same bytes."""
    lessons: list[_ReadFile] = []
    left_out: list[SkippedFile] = []
    facts = {name: one.facts for name, one in read.items()}
    ordered = [read[name] for name in reading_order(site, list(read), facts)]
    kept = _first_copies(ordered, linked)
    for lesson in ordered:
        original = kept.get(lesson.file_hash, lesson.name)
        if lesson.facts.is_draft:
            left_out.append(SkippedFile(source_file=lesson.name, rule="draft"))
        elif lesson.facts.is_unlisted and site.kind == "docusaurus":
            left_out.append(SkippedFile(source_file=lesson.name, rule="unlisted"))
        elif original != lesson.name:
            left_out.append(SkippedFile(source_file=lesson.name, rule="identical-copy", detail=f"of {original}"))
        else:
            lessons.append(lesson)
    return lessons, left_out


def _first_copies(ordered: Sequence[_ReadFile], linked: frozenset[str]) -> dict[str, str]:
    """Hash → the lesson that keeps it: the first in reading order, a file itself before a link to it."""
    first: dict[str, str] = {}
    for lesson in sorted(ordered, key=lambda one: one.name in linked):
        # Two empty files are two empty lessons, not one and its copy.
        if lesson.file_hash and not lesson.is_blank:
            first.setdefault(lesson.file_hash, lesson.name)
    return first


def _unplaced(site: Site, lesson: _ReadFile, listed: Listed | None) -> Unplaced:
    return Unplaced(
        source_file=lesson.name,
        path=(listed.path if listed else "") or site.inner(lesson.name),
        facts=lesson.facts,
        group=listed.group if listed else "",
        leads_group=bool(listed and listed.leads_group),
        is_readable=lesson.broken is None,
    )


def _unreadable(tree: Tree, lessons: Sequence[_ReadFile], numbering: Numbering) -> tuple[UnreadableFile, ...]:
    broken = [lesson.broken for lesson in lessons if lesson.broken]
    return tuple(sorted([*tree.unreadable, *broken, *numbering.unreadable], key=lambda one: one.source_file))


def _lesson_file(
    found: Discovery, site: Site, lesson: _ReadFile, listed: Listed | None, numbered: Numbered
) -> LessonFile:
    crumbs = listed.breadcrumb if listed else None
    return LessonFile(
        book_id=found.book_id,
        source_file=lesson.name,
        file_hash=lesson.file_hash,
        format=format_of(lesson.name) or "markdown",
        position=numbered.position,
        audience=audience_of(lesson.name, lesson.facts, found.profile),
        numbered=numbered.is_given,
        title=lesson.facts.title or (listed.title if listed else "") or None,
        url=(listed.url if listed else "") or url_of(site, found.base_url, lesson.name, lesson.facts),
        breadcrumb=breadcrumb(site, lesson.name) if crumbs is None else crumbs,
        site=site.kind,
    )


def _with_lessons(found: Discovery, root: Path) -> Discovery:
    if found.files or found.unreadable:
        return found
    rules = sorted({left.rule for left in found.left_out})
    because = f" Left out, by rule: {', '.join(rules)}." if rules else ""
    raise BadSource(
        f"{root} holds no lessons.{because}",
        advice="Name a folder with .md, .mdx, .rst or .ipynb files, or set book.docs in bookwise.toml.",
    )


def _raw_path(root: Path, source_file: str) -> bytes:
    """Where a source file lies on disk: names that were normalised or escaped are found by listing."""
    plain = source_file.encode()
    if os.path.lexists(os.path.join(os.fsencode(root), plain)):
        return plain
    raw = b""
    for part in source_file.split("/"):
        try:
            names = source_names(os.listdir(os.path.join(os.fsencode(root), raw)))
        except OSError:
            return plain
        raw = os.path.join(raw, next((found for found, name in names.items() if name == part), part.encode()))
    return raw
