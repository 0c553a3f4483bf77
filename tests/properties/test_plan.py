"""Laws of planning: a plan carried out leaves nothing to do, and contents decide as they always did."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bookwise.domain.books import LessonFile, LessonPosition
from bookwise.domain.jobs import IngestionMode, LessonRecord
from bookwise.ingestion.plan import changes, plan, revision_of
from tests.support.builders import NOON, lesson_file

NAMES = st.sampled_from([f"{folder}{name}.md" for folder in ("", "a/", "a/b/") for name in "xyz"])
HASHES = st.sampled_from(["0" * 64, "1" * 64, "2" * 64])
MODES: st.SearchStrategy[IngestionMode] = st.sampled_from(["incremental", "full", "recreate"])
CONTENTS = st.dictionaries(NAMES, HASHES)
RECIPES = st.sampled_from(["old", "new"])


@st.composite
def sources(draw: st.DrawFn) -> list[LessonFile]:
    return [
        lesson_file(
            name,
            file_hash=file_hash,
            title=draw(st.sampled_from([None, "A", "B"])),
            numbered=draw(st.booleans()),
            position=LessonPosition(module="m", chapter=0, lesson=draw(st.integers(0, 3))),
        )
        for name, file_hash in draw(CONTENTS).items()
    ]


def record(file: LessonFile, recipe: str) -> LessonRecord:
    return LessonRecord(
        book_id=file.book_id,
        source_file=file.source_file,
        lesson_id=file.source_file,
        revision=revision_of(file, recipe),
        file_hash=file.file_hash,
        position=file.position,
        title="",
        url="",
        chunk_ids=(),
        ingested_at=NOON,
    )


@given(before=sources(), after=sources(), mode=MODES, recipe=RECIPES)
def test_a_plan_carried_out_leaves_nothing_to_do(
    before: list[LessonFile], after: list[LessonFile], mode: IngestionMode, recipe: str
) -> None:
    live = {file.source_file: record(file, "old") for file in before}
    steps = plan(after, list(live.values()), recipe, mode)
    for file in steps.publish:
        live[file.source_file] = record(file, recipe)
    for name in steps.withdraw:
        del live[name]
    rest = plan(after, list(live.values()), recipe, "incremental")
    assert rest.publish == ()
    assert rest.withdraw == ()
    assert rest.skip == tuple(after)


@given(before=sources(), after=sources(), mode=MODES, recipe=RECIPES)
def test_every_lesson_is_in_exactly_one_step(
    before: list[LessonFile], after: list[LessonFile], mode: IngestionMode, recipe: str
) -> None:
    steps = plan(after, [record(file, "old") for file in before], recipe, mode)
    handled = [*(f.source_file for f in steps.publish), *(f.source_file for f in steps.skip), *steps.withdraw]
    assert sorted(handled) == sorted({f.source_file for f in (*before, *after)})


@given(stored=CONTENTS, current=CONTENTS)
def test_when_only_contents_change_the_hashes_decide(stored: dict[str, str], current: dict[str, str]) -> None:
    plain = lesson_file()
    records = [record(replace(plain, source_file=name, file_hash=h), "same") for name, h in stored.items()]
    files = [replace(plain, source_file=name, file_hash=h) for name, h in current.items()]
    found = changes(files, records, "same")
    assert [f.source_file for f in found.new] == [name for name in current if name not in stored]
    assert [f.source_file for f in found.modified] == [
        name for name in current if name in stored and stored[name] != current[name]
    ]
    assert list(found.deleted) == [name for name in stored if name not in current]


@given(before=sources(), after=sources(), broken=st.sets(NAMES))
def test_a_lesson_that_cannot_be_read_stays_with_its_readers(
    before: list[LessonFile], after: list[LessonFile], broken: set[str]
) -> None:
    readable = [file for file in after if file.source_file not in broken]
    steps = plan(readable, [record(f, "r") for f in before], "r", "incremental", unreadable=broken)
    assert broken.isdisjoint(steps.withdraw)
    assert broken.isdisjoint(file.source_file for file in steps.publish)
