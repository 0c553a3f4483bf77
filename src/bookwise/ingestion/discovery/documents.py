"""A folder of PDF and EPUB files, or one such file → their chapters as lessons."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from bookwise.domain.errors import BadLesson
from bookwise.domain.jobs import SkippedFile, UnreadableFile
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts
from bookwise.ingestion.discovery.globs import matches_any
from bookwise.ingestion.discovery.names import label, natural_key, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import Listed, Site
from bookwise.ingestion.discovery.walk import Tree
from bookwise.ingestion.documents.document import (
    MAX_DOCUMENT_BYTES,
    Document,
    DocumentChapter,
    document_of,
    is_document,
)
from bookwise.ingestion.documents.read import read_document


@dataclass(slots=True)
class _Opening:
    """What was found in the documents so far."""

    chapters: dict[str, bytes] = field(default_factory=dict)
    listed: list[Listed] = field(default_factory=list)
    left_out: list[SkippedFile] = field(default_factory=list)
    unreadable: list[UnreadableFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)

    def add(self, name: str, document: Document, *, is_only: bool) -> None:
        self.titles.append(document.title)
        self.warnings += (f"{name}: {warning}" for warning in document.warnings)
        is_numbered = any(chapter.number is not None for chapter in document.chapters)
        for chapter in document.chapters:
            source_file = f"{name}/{chapter.name}"
            if chapter.error:
                self.unreadable.append(_unreadable_file(source_file, chapter.error))
            elif chapter.is_listing:
                self.left_out.append(
                    SkippedFile(source_file=source_file, rule="not-a-lesson", detail="a list of pages")
                )
            else:
                self.chapters[source_file] = chapter.content
                above = () if is_only else (document.title or label(stem(name)),)
                self.listed.append(_listed(source_file, chapter, above, is_counted=not is_numbered))


def document_names(names: Iterable[str], profile: BookProfile) -> list[str]:
    """The documents of a folder in natural order, without those that `bookwise.toml` excludes."""
    docs = f"{profile.book.docs}/" if profile.book.docs else ""
    allowed = (n for n in names if is_document(n) and n.startswith(docs) and not matches_any(profile.exclude, n))
    return sorted(allowed, key=natural_key)


def open_documents(tree: Tree, names: Sequence[str]) -> tuple[Tree, Site]:
    """The tree with the chapters as files, and their order. A document that cannot be read is reported as such."""
    opening = _Opening()
    for name in names:
        try:
            opening.add(name, read_document(name, tree.read(name, MAX_DOCUMENT_BYTES)), is_only=len(names) == 1)
        except BadLesson as error:
            opening.unreadable.append(_unreadable_file(name, error))
    site = Site(
        kind="document",
        title=opening.titles[0] if len(names) == 1 and opening.titles else "",
        route=_route,
        formats=frozenset({"html"}),
        listed=tuple(opening.listed),
        warnings=tuple(opening.warnings),
    )
    paths = {name: name.encode() for name in opening.chapters}
    return (
        replace(
            tree,
            raw_paths={**tree.raw_paths, **paths},
            chapters=opening.chapters,
            left_out=(*tree.left_out, *opening.left_out),
            unreadable=(*tree.unreadable, *opening.unreadable),
        ),
        site,
    )


def facts_of(listed: Listed | None) -> Facts:
    """What the navigation states about a chapter of a document."""
    return NO_FACTS if listed is None or listed.chapter is None else Facts(chapter=listed.chapter)


def _unreadable_file(name: str, error: BadLesson) -> UnreadableFile:
    return UnreadableFile(source_file=name, reason=error.reason, message=error.message)


def _listed(name: str, chapter: DocumentChapter, above: tuple[str, ...], *, is_counted: bool) -> Listed:
    return Listed(
        name=name,
        title=chapter.title,
        breadcrumb=(*above, *chapter.parents),
        group=name if is_counted else "",
        leads_group=is_counted,
        path="chapter.html",  # module and numbers come from the document, not from the words of a title
        chapter=chapter.number,
    )


def _route(path: str, facts: Facts) -> str | None:
    """The PDF itself: viewers open it at `#page=88`. Nothing can link into an EPUB."""
    document = document_of(path) or ""
    return document if document.lower().endswith(".pdf") else None
