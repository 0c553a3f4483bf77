"""Compares catalog and index lesson by lesson, and repairs differences."""

from collections.abc import Mapping
from dataclasses import dataclass

from bookwise.domain.jobs import LessonRecord
from bookwise.ingestion.publish import sweep
from bookwise.ports import Catalog, LessonIndex
from bookwise.text.plurals import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference between catalog and index."""

    book_id: str
    kind: str  #: `incomplete-lesson`, `damaged-lesson` or `orphan-chunks`
    subject: str  #: source file, or revision
    expected: int
    stored: int

    @property
    def message(self) -> str:
        if self.kind == "incomplete-lesson":
            return f"{self.subject}: the index holds {self.stored} of {self.expected} chunks"
        if self.kind == "damaged-lesson":
            return f"{self.subject}: {self.expected - self.stored} of {self.expected} chunks are damaged"
        return f"revision {self.subject}: {plural(self.stored, 'chunk')} of no live lesson"


async def examine(book_id: str, *, index: LessonIndex, catalog: Catalog) -> list[Finding]:
    """The differences between the catalog and the index for one book. Reads and verifies every chunk."""
    stored, sound = await index.revisions(book_id), await index.verify(book_id)
    records = await catalog.records(book_id)
    findings = [
        Finding(book_id=book_id, kind=kind, subject=record.source_file, expected=record.chunk_count, stored=count)
        for record in records
        for kind, count in [_state(record, stored, sound)]
        if count != record.chunk_count
    ]
    live = {record.revision for record in records}
    findings += [
        Finding(book_id=book_id, kind="orphan-chunks", subject=revision, expected=0, stored=count)
        for revision, count in sorted(stored.items())
        if revision not in live
    ]
    return findings


def _state(record: LessonRecord, stored: Mapping[str, int], sound: Mapping[str, int]) -> tuple[str, int]:
    """What kind of finding a lesson would be, and how many chunks it has."""
    count = stored.get(record.revision, 0)
    if count != record.chunk_count:
        return "incomplete-lesson", count
    return "damaged-lesson", sound.get(record.revision, 0)


async def repair(findings: list[Finding], *, index: LessonIndex, catalog: Catalog) -> None:
    """Withdraws incomplete and damaged lessons, so that the next ingest publishes them again, and removes orphaned
    chunks."""
    for book_id in sorted({finding.book_id for finding in findings}):
        lessons = [f.subject for f in findings if f.book_id == book_id and f.kind != "orphan-chunks"]
        await catalog.withdraw(book_id, lessons)
        await sweep(book_id, index=index, catalog=catalog)
