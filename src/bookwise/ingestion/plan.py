"""Lessons on disk and live lessons → what an ingestion job will do."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

from bookwise.domain.books import LessonFile
from bookwise.domain.jobs import Changes, IngestionMode, IngestionPlan, LessonRecord


def revision_of(file: LessonFile, recipe: str) -> str:
    """Identifies bytes, metadata and recipe of a lesson. It changes whenever a chunk of the lesson could change."""
    inputs = [file.key, recipe, asdict(file)]
    text = json.dumps(inputs, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def lost_revisions(records: Sequence[LessonRecord], stored: Mapping[str, int]) -> frozenset[str]:
    """The live revisions of which the index does not hold every chunk."""
    return frozenset(record.revision for record in records if stored.get(record.revision, 0) < record.chunk_count)


def changes(
    files: Sequence[LessonFile],
    records: Sequence[LessonRecord],
    recipe: str,
    *,
    unreadable: Collection[str] = (),
    lost: Collection[str] = (),
) -> Changes:
    """The difference between the source and the live lessons. A lesson whose revision is `lost` counts as modified.

    A live lesson whose file is unreadable now counts as neither modified nor deleted: a broken edit must not take a
    lesson away from readers. An unreadable folder or document covers all lessons in it.
    """
    live = {record.source_file: record.revision for record in records}
    on_disk = {file.source_file for file in files}
    folders = tuple(f"{name.removesuffix('/')}/" for name in unreadable)
    new: list[LessonFile] = []
    modified: list[LessonFile] = []
    unchanged: list[LessonFile] = []
    for file in files:
        revision = live.get(file.source_file)
        same = revision == revision_of(file, recipe) and revision not in lost
        (new if revision is None else unchanged if same else modified).append(file)
    return Changes(
        new=tuple(new),
        modified=tuple(modified),
        unchanged=tuple(unchanged),
        deleted=tuple(
            name for name in live if name not in on_disk and name not in unreadable and not name.startswith(folders)
        ),
    )


def plan(
    files: Sequence[LessonFile],
    records: Sequence[LessonRecord],
    recipe: str,
    mode: IngestionMode,
    *,
    unreadable: Collection[str] = (),
    lost: Collection[str] = (),
) -> IngestionPlan:
    """What the job will do: `incremental` publishes new and modified lessons, `full` and `recreate` all of them."""
    difference = changes(files, records, recipe, unreadable=unreadable, lost=lost)
    if mode != "incremental":
        return IngestionPlan(publish=tuple(files), skip=(), withdraw=difference.deleted)
    to_publish = {file.source_file for file in (*difference.new, *difference.modified)}
    return IngestionPlan(
        publish=tuple(file for file in files if file.source_file in to_publish),
        skip=difference.unchanged,
        withdraw=difference.deleted,
    )
