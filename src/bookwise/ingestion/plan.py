"""Lessons on disk and lessons that are live → what an ingestion run will do."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict

from bookwise.domain.books import LessonFile
from bookwise.domain.jobs import Changes, IngestionMode, IngestionPlan, LessonRecord


def revision_of(file: LessonFile, recipe: str) -> str:
    """Which bytes, with which facts, by which recipe: another one whenever a chunk could differ."""
    facts = [file.key, recipe, asdict(file)]
    written = json.dumps(facts, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(written.encode()).hexdigest()[:32]


def changes(
    files: Sequence[LessonFile],
    records: Sequence[LessonRecord],
    recipe: str,
    *,
    unreadable: Collection[str] = (),
) -> Changes:
    """How the source differs from what is live.

    A live lesson whose file cannot be read now is neither modified nor deleted: a broken edit must not take
    a lesson away from its readers. An unreadable folder (named with its slash) stands for all below it.
    """
    live = {record.source_file: record.revision for record in records}
    on_disk = {file.source_file for file in files}
    folders = tuple(name for name in unreadable if name.endswith("/"))
    new: list[LessonFile] = []
    modified: list[LessonFile] = []
    unchanged: list[LessonFile] = []
    for file in files:
        known = live.get(file.source_file)
        same = known == revision_of(file, recipe)
        (new if known is None else unchanged if same else modified).append(file)
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
) -> IngestionPlan:
    """`incremental` publishes what is new or modified; `full` and `recreate` publish everything."""
    found = changes(files, records, recipe, unreadable=unreadable)
    if mode != "incremental":
        return IngestionPlan(publish=tuple(files), skip=(), withdraw=found.deleted)
    wanted = {file.source_file for file in (*found.new, *found.modified)}
    return IngestionPlan(
        publish=tuple(file for file in files if file.source_file in wanted),
        skip=found.unchanged,
        withdraw=found.deleted,
    )
