"""What changed since the last run, and what a run will do about it."""

from dataclasses import replace

import pytest

from bookwise.domain.books import Audience, LessonFile, LessonPosition
from bookwise.domain.jobs import IngestionMode, LessonRecord
from bookwise.ingestion.plan import changes, plan, revision_of
from tests.support.builders import NOON, lesson_file

RECIPE = "recipe-1"


def live(file: LessonFile, recipe: str = RECIPE) -> LessonRecord:
    return LessonRecord(
        book_id=file.book_id,
        source_file=file.source_file,
        lesson_id=file.key,
        revision=revision_of(file, recipe),
        file_hash=file.file_hash,
        position=file.position,
        title="",
        url="",
        chunk_ids=(),
        ingested_at=NOON,
    )


A, B, C = (
    lesson_file(f"{name}.md", position=LessonPosition(module="m", chapter=1, lesson=i)) for i, name in enumerate("abc")
)


def test_a_source_differs_by_what_is_new_modified_and_deleted() -> None:
    edited = replace(B, file_hash="1" * 64)
    found = changes([A, edited, C], [live(A), live(B), live(lesson_file("gone.md"))], RECIPE)
    assert found.new == (C,)
    assert found.modified == (edited,)
    assert found.unchanged == (A,)
    assert found.deleted == ("gone.md",)


@pytest.mark.parametrize(
    "fact",
    [
        {"file_hash": "1" * 64},
        {"position": LessonPosition(module="n", chapter=1, lesson=0)},
        {"audience": Audience(hardware_tier=2)},
        {"numbered": True},
        {"title": "Other"},
        {"url": "https://x.example/a"},
        {"breadcrumb": ("Part",)},
        {"site": "mkdocs"},
        {"format": "mdx"},
        {"book_id": "other"},
        {"source_file": "other.md"},
    ],
)
def test_every_fact_that_reaches_a_chunk_makes_another_revision(fact: dict[str, object]) -> None:
    assert revision_of(replace(A, **fact), RECIPE) != revision_of(A, RECIPE)  # type: ignore[arg-type]


def test_another_recipe_makes_another_revision() -> None:
    assert revision_of(A, "recipe-2") != revision_of(A, RECIPE)
    assert changes([A], [live(A)], "recipe-2").modified == (A,)


def test_a_revision_is_stable_and_short() -> None:
    revision = revision_of(A, RECIPE)
    assert revision == revision_of(replace(A), RECIPE)
    assert len(revision) == 32
    assert set(revision) <= set("0123456789abcdef")


def test_facts_that_run_together_are_not_confused() -> None:
    one = replace(A, breadcrumb=("a", "b"), title="c")
    other = replace(A, breadcrumb=("a",), title='b","c')
    assert revision_of(one, RECIPE) != revision_of(other, RECIPE)


def test_a_broken_edit_does_not_take_a_lesson_away() -> None:
    found = changes([A], [live(A), live(B)], RECIPE, unreadable={"b.md"})
    assert found.deleted == ()
    assert found.unchanged == (A,)


def test_an_unreadable_folder_covers_all_files_below_it() -> None:
    below = lesson_file("part/deep/x.md")
    beside = lesson_file("part-two/x.md")
    found = changes([], [live(below), live(beside)], RECIPE, unreadable={"part/"})
    assert found.deleted == ("part-two/x.md",)


def test_an_incremental_run_publishes_only_what_changed_in_reading_order() -> None:
    edited = replace(A, file_hash="1" * 64)
    steps = plan([C, edited, B], [live(A), live(B), live(lesson_file("gone.md"))], RECIPE, "incremental")
    assert steps.publish == (C, edited)
    assert steps.skip == (B,)
    assert steps.withdraw == ("gone.md",)


@pytest.mark.parametrize("mode", ["full", "recreate"])
def test_a_full_run_publishes_everything(mode: IngestionMode) -> None:
    steps = plan([A, B], [live(A), live(C)], RECIPE, mode)
    assert steps.publish == (A, B)
    assert steps.skip == ()
    assert steps.withdraw == ("c.md",)


def test_an_unreadable_lesson_is_withdrawn_by_no_mode() -> None:
    modes: tuple[IngestionMode, ...] = ("incremental", "full", "recreate")
    for mode in modes:
        assert plan([A], [live(B)], RECIPE, mode, unreadable=["b.md"]).withdraw == ()
