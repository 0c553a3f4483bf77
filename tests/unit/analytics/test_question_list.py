"""The lists of the author's view: kinds, statuses, groups, CSV and entries to copy."""

import csv
import io
import tomllib
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwise.analytics.gaps import UNNAMED
from bookwise.analytics.question_csv import COLUMNS, questions_csv
from bookwise.analytics.question_list import GROUPS_FROM, QuestionList, list_questions, with_status
from bookwise.analytics.validation_entry import EntryKind, validation_entry
from bookwise.domain.journal import AskedQuestion
from bookwise.ingestion.discovery.profile import BookProfile
from tests.unit.analytics.test_insights import NOW, answered, asked


def texts(found: QuestionList) -> list[str]:
    return [question.entry.question for question in found.questions]


def lidars(count: int, start: int = 100) -> list[AskedQuestion]:
    return [asked(start + number, f"What is a lidar for, in case {number}?") for number in range(count)]


def test_each_kind_has_its_own_list() -> None:
    entries = [
        asked(1, "a refusal"),
        answered(2, "a weak answer", level="low"),
        answered(3, "a bad answer", thumb="down"),
        answered(4, "a good answer", thumb="up"),
        asked(5, "hello", reason="small-talk"),
        asked(6, "an attack", outcome="blocked", reason="injection"),
    ]
    assert texts(list_questions(entries, "unanswered", "open")) == ["a refusal"]
    assert texts(list_questions(entries, "low-confidence", "open")) == ["a weak answer"]
    assert texts(list_questions(entries, "disliked", "open")) == ["a bad answer"]


def test_a_marked_question_leaves_the_open_list_and_is_counted() -> None:
    entries = [asked(1, "one"), asked(2, "two", mark="fixed", marked_at=NOW), asked(3, "three", mark="ignored")]
    found = list_questions(entries, "unanswered", "open")
    assert (texts(found), found.counts) == (["one"], {"open": 1, "fixed": 1, "ignored": 1})
    assert texts(list_questions(entries, "unanswered", "fixed")) == ["two"]
    assert texts(list_questions(entries, "unanswered", "ignored")) == ["three"]


def test_the_words_of_an_ignored_question_stay_ignored_when_they_are_asked_again() -> None:
    entries = [asked(1, "  WHO won? "), asked(2, "Who won?", mark="ignored", marked_at=NOW)]
    assert texts(list_questions(entries, "unanswered", "open")) == []


def test_a_question_asked_again_after_its_fix_is_open_and_says_so() -> None:
    fixed_at = NOW - timedelta(minutes=30)
    entries = [asked(1, "who won?"), asked(40, "Who won?"), asked(60, "Who won?", mark="fixed", marked_at=fixed_at)]
    newest, older = list_questions(entries, "unanswered", "open").questions
    assert (newest.asked_again, older.asked_again) == (True, False)


def test_questions_without_text_are_not_taken_for_the_same() -> None:
    entries = [asked(1, ""), asked(2, "", mark="ignored", marked_at=NOW)]
    assert len(list_questions(entries, "unanswered", "open").questions) == 1


def test_few_questions_are_a_list_and_many_are_groups_with_the_single_ones_last() -> None:
    few = lidars(GROUPS_FROM - 1)
    assert list_questions(few, "unanswered", "open").groups == ()
    many = [*lidars(GROUPS_FROM - 1), asked(300, "<b>Which</b> gripper?"), asked(301, "What about a visa?")]
    groups = list_questions(many, "unanswered", "open").groups
    assert [(group.name, len(group.questions)) for group in groups] == [("lidar", GROUPS_FROM - 1), (UNNAMED, 2)]


def test_markup_and_masks_are_not_a_subject() -> None:
    entries = [
        asked(number, f'<img src=x onerror="alert(1)"> [e-mail] What about {word}?')
        for number, word in enumerate(["gears", "visas", "wheels", "fields", "paint"] * 6)
    ]
    groups = list_questions(entries, "unanswered", "open").groups
    assert {group.name for group in groups} == {"gears", "visas", "wheels", "fields", "paint"}


def rows_of(*entries: AskedQuestion) -> list[list[str]]:
    return list(csv.reader(io.StringIO(questions_csv(with_status(entries)))))


@pytest.mark.parametrize("formula", ["=1+1", "+1", "-1", "@SUM(A1)", "  =1", "\t=1", "\r=1", '=HYPERLINK("https://x")'])
def test_no_cell_is_a_formula(formula: str) -> None:
    head, row = rows_of(answered(1, formula, comment=formula, thumb="down"))
    assert tuple(head) == COLUMNS
    assert row[1].startswith("'")
    assert row[6].startswith("'")


def test_the_table_keeps_commas_quotes_and_lines() -> None:
    text = 'A "quoted", long\nquestion'
    assert rows_of(asked(1, text, mark="fixed"))[1][1:4] == [text, "refused", "not-in-the-book"]


texts_of_readers: Any = st.text(st.characters(exclude_categories=["Cs"]), min_size=3, max_size=200).filter(
    lambda text: len(" ".join(text.split())) >= 3
)


@given(texts_of_readers, st.sampled_from(["answerable", "near-miss"]))
def test_an_entry_is_valid_toml_whatever_the_question(text: str, kind: EntryKind) -> None:
    lesson = 'docs/"odd" \\ name.md' if kind == "answerable" else None
    entry = validation_entry(text, kind, lesson=lesson, section="a-heading" if lesson else None)
    (question,) = BookProfile.model_validate(tomllib.loads(entry)).questions
    assert (question.text, question.kind, question.lesson) == (" ".join(text.split()), kind, lesson)


def test_two_questions_never_share_an_id() -> None:
    first, second = validation_entry("Why?", "near-miss"), validation_entry("why?", "near-miss")
    assert first.splitlines()[1] != second.splitlines()[1]
