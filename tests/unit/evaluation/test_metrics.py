"""Verdicts and figures, by answers made by hand."""

from dataclasses import replace

import pytest

from bookwise.domain.answers import Answer, Citation, Passage
from bookwise.evaluation.metrics import (
    Evaluation,
    LiveBook,
    Minimum,
    area_under_roc,
    broken_citation,
    histogram,
    judge,
    reliability,
)
from bookwise.ingestion.discovery.profile import ValidationQuestion
from tests.support.answers import answered, blocked, interrupted, passage, refused

LESSON = "nodes.md"


def live_with(*passages: Passage) -> LiveBook:
    return LiveBook(chunks={found.chunk.id: found.chunk for found in passages})


LIVE = live_with(*(passage(number) for number in range(1, 6)))


def question(kind: str = "answerable", **facts: object) -> ValidationQuestion:
    plain = {"id": "q", "kind": kind, "text": "How do nodes talk?"}
    if kind in ("answerable", "follow-up"):
        plain["lesson"] = LESSON
    return ValidationQuestion.model_validate({**plain, **facts})


def why(asked: ValidationQuestion, answer: Answer, live: LiveBook = LIVE) -> str:
    return judge(asked, answer, live).why


def cited(found: Passage, quote: str = "") -> Citation:
    return Citation(number=found.number, passage=found, quote=quote or found.chunk.text)


def test_an_answer_that_cites_the_expected_lesson_is_right() -> None:
    verdict = judge(question(), answered(), LIVE)
    assert (verdict.right, verdict.lesson_cited, verdict.outcome, verdict.module) == (True, True, "answered", "main")
    assert verdict.similarity == pytest.approx(0.9)


def test_an_answer_from_another_lesson_is_wrong() -> None:
    live = live_with(passage(1), passage(9, source_file="topics.md"))
    verdict = judge(question(lesson="topics.md"), answered(), live)
    assert (verdict.right, verdict.why) == (False, "answered from another lesson")
    assert not verdict.lesson_found


def test_a_lesson_the_book_does_not_have_is_named() -> None:
    assert "no lesson ghosts.md" in why(question(lesson="ghosts.md"), answered())


@pytest.mark.parametrize("answer", [refused(0.5), refused(), interrupted(0.9), blocked()])
def test_what_the_book_answers_must_be_answered(answer: Answer) -> None:
    assert "but the book has an answer" in why(question(), answer)
    assert "but the book has an answer" in why(question("follow-up", history=("What is a node?",)), answer)


@pytest.mark.parametrize("kind", ["off-topic", "near-miss"])
def test_what_the_book_does_not_say_must_be_refused(kind: str) -> None:
    assert why(question(kind), refused(0.2)) == ""
    assert why(question(kind), blocked()) == ""
    assert "the book has no answer" in why(question(kind), answered())
    assert "the book has no answer" in why(question(kind), interrupted(0.9))


def test_the_expected_section_is_reported_and_decides_nothing() -> None:
    assert judge(question(), answered(), LIVE).section_cited is None
    for section, hit in (("talking", True), ("Talking", True), ("singing", False)):
        verdict = judge(question(section=section), answered(), LIVE)
        assert (verdict.section_cited, verdict.right) == (hit, True), section


def test_a_citation_leads_to_what_it_says_or_the_answer_is_wrong() -> None:
    first = passage(1)
    assert broken_citation(cited(first), LIVE) == ""
    assert "quote" in broken_citation(cited(first, "Node 1 sings"), LIVE)
    assert "quote" in broken_citation(cited(first, " "), LIVE)
    assert "not a live chunk" in broken_citation(cited(passage(77)), LIVE)
    assert "differs" in broken_citation(cited(passage(1, text="Something else.")), LIVE)
    assert "differs" in broken_citation(cited(passage(1, url="https://example.com/other")), LIVE)
    lost = replace(answered(), citations=(cited(first, "Node 1 sings"),))
    assert why(question(), lost) == "[1] the quote is not in its passage"


def test_totals_are_per_kind_and_per_module() -> None:
    run = evaluation(
        (question(), answered()),
        (question(id="b"), refused(0.3)),
        (question("off-topic", id="c"), refused(0.1)),
        (question("near-miss", id="d"), answered()),
    )
    assert run.accuracy == 0.5
    assert {t.name: (t.asked, t.right) for t in run.kinds} == {
        "answerable": (2, 1), "off-topic": (1, 1), "near-miss": (1, 0),
    }  # fmt: skip
    assert [(t.name, t.asked, t.right) for t in run.modules] == [("main", 2, 1)]
    assert [verdict.question.id for verdict in run.misses] == ["b", "d"]
    assert (run.citations.asked, run.citations.right) == (2, 2)
    assert run.grounding == 0.5
    assert run.median_ms == 45.0


def test_an_answer_with_a_broken_citation_counts_in_both_totals() -> None:
    whole = answered(cites=(1, 2))
    broken = replace(whole, citations=(whole.citations[0], replace(whole.citations[1], quote="never said")))
    run = evaluation((question(), broken))
    assert (run.citations.asked, run.citations.right, run.accuracy) == (2, 1, 0.0)


def test_usefulness_is_counted_by_type_where_questions_name_facts() -> None:
    talk, sing = ("Nodes talk",), ("nodes sing",)
    run = evaluation(
        (question(type="list", contains=[talk]), answered()),
        (question(id="b", type="list", contains=[talk, sing]), answered()),
        (question(id="c", type="why", contains=[sing]), answered()),
        (question("follow-up", id="d", history=("What is a node?",), contains=[talk]), refused(0.3)),
        (question(id="e"), answered()),
    )
    assert [(t.name, t.asked, t.useful, t.complete) for t in (*run.types, run.usefulness)] == [
        ("follow-up", 1, 0, 0), ("list", 2, 2, 1), ("why", 1, 0, 0), ("all", 4, 2, 1),
    ]  # fmt: skip
    assert (run.usefulness.useful_share, run.usefulness.complete_share) == (0.5, 0.25)
    assert {verdict.question.id: verdict.why_not_useful for verdict in run.not_useful} == {
        "c": 'missing: "nodes sing"',
        "d": 'refused (not-in-the-book), missing: "Nodes talk"',
    }
    assert [verdict.question.id for verdict in run.misses] == ["d"], "a fact decides nothing about right and wrong"


def test_what_an_answer_should_avoid_is_named() -> None:
    run = evaluation((question(contains=["nodes talk"], avoid=["over topics"]), answered()))
    assert [verdict.why_not_useful for verdict in run.not_useful] == ['contains: "over topics"']


def test_a_high_answer_is_useful_or_not_where_that_is_known() -> None:
    low = (0.7, 0.65, 0.6)
    run = evaluation(
        (question(contains=["nodes talk"]), answered()),
        (question(id="b", contains=["nodes sing"]), answered()),
        (question(id="c", contains=["nodes sing"]), answered(*low)),
        (question("near-miss", id="d"), answered()),
        (question(id="e"), answered()),
    )
    assert (run.high.asked, run.high.right) == (3, 1)


def test_an_evaluation_must_reach_both_minimums() -> None:
    run = evaluation((question(contains=["nodes talk"]), answered()), (question(id="b", contains=["sing"]), answered()))
    assert Minimum(correct=1.0).met_by(run)
    assert Minimum(correct=1.0, useful=0.5).met_by(run)
    assert not Minimum(correct=1.0, useful=0.6).met_by(run)
    assert not Minimum(correct=1.0, useful=0.5).met_by(evaluation())


def test_area_under_roc_is_the_chance_that_a_positive_scores_higher() -> None:
    assert area_under_roc([0.9, 0.8], [0.1, 0.2]) == 1.0
    assert area_under_roc([0.1], [0.9]) == 0.0
    assert area_under_roc([0.5, 0.5], [0.5]) == 0.5
    assert area_under_roc([0.3, 0.7], [0.5]) == 0.5
    assert area_under_roc([], [0.5]) is None


def test_reliability_compares_similarity_with_what_was_found() -> None:
    low, high = reliability([(0.12, False), (0.18, False), (0.95, True), (0.99, True), (1.0, True), (0.92, False)])
    assert (low.low, low.high, low.count, low.mean, low.share) == (0.1, 0.2, 2, pytest.approx(0.15), 0.0)
    assert (high.low, high.count, high.share) == (0.9, 4, 0.75)


def test_an_off_topic_question_is_never_found() -> None:
    run = evaluation((question("off-topic"), answered(0.9, 0.9)), (question(id="b"), answered(0.9, 0.9)))
    (only,) = run.reliability
    assert (only.count, only.share) == (2, 0.5)


def test_each_score_falls_into_its_tenth() -> None:
    assert histogram([0.0, 0.05, 0.1, 0.3, 0.6, 1.0]) == [2, 1, 0, 1, 0, 0, 1, 0, 0, 1]


def test_a_run_without_questions_has_no_figures_and_no_error() -> None:
    run = evaluation()
    assert (run.accuracy, run.grounding, run.area_under_roc, run.median_ms) == (0.0, None, None, 0.0)
    assert run.kinds == run.modules == run.reliability == ()


def evaluation(*pairs: tuple[ValidationQuestion, Answer]) -> Evaluation:
    verdicts = tuple(judge(asked, answer, LIVE) for asked, answer in pairs)
    return Evaluation(book_id="book", title="Book", engine="extractive", verdicts=verdicts)
