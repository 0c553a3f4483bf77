"""Compares catalog and index lesson by lesson, and repairs differences."""

from dataclasses import dataclass

from bookwise.ingestion.publish import sweep
from bookwise.ports import Catalog, LessonIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One difference between catalog and index."""

    book_id: str
    kind: str  #: `incomplete-lesson` or `orphan-chunks`
    subject: str  #: source file, or revision
    expected: int
    stored: int

    @property
    def message(self) -> str:
        if self.kind == "incomplete-lesson":
            return f"{self.subject}: the index holds {self.stored} of {self.expected} chunks"
        return f"revision {self.subject}: {self.stored} chunks that belong to no live lesson"


async def examine(book_id: str, *, index: LessonIndex, catalog: Catalog) -> list[Finding]:
    """The differences between the catalog and the index for one book."""
    stored = await index.revisions(book_id)
    records = await catalog.records(book_id)
    findings = [
        Finding(
            book_id=book_id,
            kind="incomplete-lesson",
            subject=record.source_file,
            expected=record.chunk_count,
            stored=stored.get(record.revision, 0),
        )
        for record in records
        if stored.get(record.revision, 0) != record.chunk_count
    ]
    live = {record.revision for record in records}
    findings += [
        Finding(book_id=book_id, kind="orphan-chunks", subject=revision, expected=0, stored=count)
        for revision, count in sorted(stored.items())
        if revision not in live
    ]
    return findings


async def repair(findings: list[Finding], *, index: LessonIndex, catalog: Catalog) -> None:
    """Withdraws incomplete lessons, so that the next ingest publishes them again, and removes orphaned chunks."""
    for book_id in sorted({finding.book_id for finding in findings}):
        incomplete = [f.subject for f in findings if f.book_id == book_id and f.kind == "incomplete-lesson"]
        await catalog.withdraw(book_id, incomplete)
        await sweep(book_id, index=index, catalog=catalog)
