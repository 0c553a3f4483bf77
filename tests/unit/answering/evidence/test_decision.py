"""One function decides whether a question is answered, asked back or refused."""

from dataclasses import replace

import pytest

from bookwise.answering.evidence.answerability import USUAL_SENTENCE, AnswerSignals
from bookwise.answering.evidence.decision import (
    NEAR,
    NEAREST_MAX,
    Decision,
    Findings,
    decide,
    for_reader,
    nearest_lessons,
    nothing_found,
    rescored,
)
from bookwise.domain.answers import Passage, Question
from bookwise.domain.books import Book, Calibration
from tests.support.answers import passage

USUAL = AnswerSignals(sentence="A node is small.", fit=USUAL_SENTENCE, names=None, denied=False, unknown=False)
STRAIGHT = Calibration(knots=((0.0, 0.0), (1.0, 1.0)))  # similarity is strength


def hit(number: int, strength: float, lesson: str = "") -> Passage:
    found = passage(number, 0.5)
    return replace(found, strength=strength, chunk=replace(found.chunk, lesson_id=lesson or f"lesson-{number}"))


def findings(*strengths: float, query: str = "How do nodes talk?", **signals: object) -> Findings:
    """Hits of these strengths, best first; `signals` overrides the usual ones."""
    passages = tuple(hit(number, strength) for number, strength in enumerate(strengths, 1))
    return Findings(
        query=query,
        passages=passages,
        signals=replace(USUAL, **signals),  # type: ignore[arg-type]
        calibration=STRAIGHT,
        vectors={found.chunk.id: (1.0, 0.0) if found.number == 1 else (0.0, 1.0) for found in passages},
    )


def decided(found: Findings, **options: object) -> Decision:
    return decide(Question(text=found.query, book_id="book", **options), found)  # type: ignore[arg-type]


def test_strong_passages_are_answered_with_the_evidence_and_its_confidence() -> None:
    decision = decided(findings(0.9, 0.9, 0.9, 0.9, 0.9))
    assert decision.refusal is None
    assert decision.evidence.question == "How do nodes talk?"
    assert [found.number for found in decision.evidence.passages] == [1, 2, 3, 4, 5]
    assert decision.evidence.confidence.similarity_level == "high"


def test_weak_passages_are_refused_as_not_in_the_book_with_the_closest_lessons() -> None:
    decision = decided(findings(0.5, 0.5, 0.5, 0.5))
    assert decision.refusal == "not-in-the-book"
    assert len(decision.evidence.passages) == 4
    assert [found.number for found in decision.nearest] == [1, 2, 3]


def test_the_only_passage_of_a_book_is_enough_but_not_one_of_several() -> None:
    assert decided(findings(0.9)).refusal is None
    assert decided(findings(0.5)).refusal == "not-in-the-book"
    assert decided(findings(0.9, 0.1), threshold=0.7).refusal == "not-in-the-book"


def test_passages_below_the_threshold_are_no_evidence_but_were_found() -> None:
    decision = decided(findings(0.9, 0.9, 0.9), threshold=0.95)
    assert decision.refusal == "not-in-the-book"
    assert decision.evidence.passages == ()
    assert len(decision.nearest) == 3


def test_a_threshold_is_the_least_similarity_of_a_passage() -> None:
    found = findings(0.9, 0.9, 0.3)
    similarities = [scored.score for scored in rescored(found)]
    decision = decided(found, threshold=similarities[1])
    assert [shown.number for shown in decision.evidence.passages] == [1, 2]
    assert decision.evidence.confidence.count == 2


def test_without_a_hit_nothing_was_found() -> None:
    assert decided(findings()).refusal == "nothing-found"
    assert nothing_found("??").refusal == "nothing-found"
    assert nothing_found("??").evidence.passages == ()


def test_a_question_without_a_subject_that_fits_several_lessons_is_asked_back() -> None:
    decision = decided(findings(0.9, 0.9, 0.9, query="How do I install it?"))
    assert decision.refusal == "ambiguous"
    assert [found.number for found in decision.nearest] == [1, 2, 3]


def test_a_weak_question_without_a_subject_is_refused_not_asked_back() -> None:
    assert decided(findings(0.4, 0.4, query="How do I install it?")).refusal == "not-in-the-book"


def test_the_evidence_has_top_k_passages_although_two_are_judged() -> None:
    decision = decided(findings(0.9, 0.9), top_k=1)
    assert decision.refusal is None
    assert [found.number for found in decision.evidence.passages] == [1]
    assert [found.number for found in decision.nearest] == [1]
    assert decision.evidence.confidence.level == "low"


def test_the_second_passage_can_refuse_a_question_for_one() -> None:
    strong, weak = 0.65, 0.0
    assert decided(findings(strong, strong), top_k=1).refusal is None
    assert decided(findings(strong, weak), top_k=1).refusal == "not-in-the-book"


def test_other_passages_are_moved_towards_the_best_by_two_thirds() -> None:
    assert [found.score for found in rescored(findings(0.9, 0.3))] == pytest.approx([0.9, 0.7])


def test_the_signals_move_all_passages() -> None:
    usual = rescored(findings(0.9, 0.3))
    missing = rescored(findings(0.9, 0.3, unknown=True))
    assert all(one.score < other.score for one, other in zip(missing, usual, strict=True))


def test_no_similarity_is_above_the_ceiling() -> None:
    assert [found.score for found in rescored(findings(0.9, 0.9, closeness=0.25))] == pytest.approx([0.69, 0.69])


def test_the_order_of_the_passages_is_the_order_of_the_search() -> None:
    assert [found.number for found in rescored(findings(0.9, 0.5, 0.4))] == [1, 2, 3]


def test_the_diversity_is_that_of_the_passages_that_count() -> None:
    assert decided(findings(0.9, 0.9)).evidence.confidence.diversity == pytest.approx(1.0)
    assert decided(findings(0.9)).evidence.confidence.diversity == 0.0


def test_each_of_the_nearest_lessons_is_named_once() -> None:
    hits = [hit(1, 0.9, "a"), hit(2, 0.8, "a"), hit(3, 0.7, "b"), hit(4, 0.6, "c"), hit(5, 0.5, "d")]
    assert [found.number for found in nearest_lessons(hits)] == [1, 3, 4]
    assert len(nearest_lessons(hits)) == NEAREST_MAX


GERMAN = "Was ist ein Knoten und wie starte ich ihn?"
BOOK = Book(id="book", title="Nodes")


def test_a_question_in_another_language_is_refused_unless_a_model_can_answer_it() -> None:
    answered, refused = decided(findings(0.9, 0.9, 0.9)), decided(findings(0.1, 0.1))
    assert for_reader(answered, GERMAN, BOOK, only_quotes=True).refusal == "other-language"
    assert for_reader(answered, GERMAN, BOOK, only_quotes=False) == answered
    assert for_reader(refused, GERMAN, BOOK, only_quotes=False).refusal == "other-language"
    assert for_reader(answered, "How do nodes talk?", BOOK, only_quotes=True) == answered


def test_a_refusal_names_only_near_sections_whose_heading_has_a_word_of_the_question() -> None:
    far = passage(1, NEAR - 0.01)
    near = passage(2, NEAR)
    unrelated = passage(3, NEAR, section_title="The supervisor")
    refused = decided(findings(0.1, 0.1))
    evidence = replace(refused.evidence, question="How do nodes talk?")
    refused = replace(refused, nearest=(far, near, unrelated), evidence=evidence)
    assert for_reader(refused, "How do nodes talk?", BOOK, only_quotes=True).nearest == (near,)
    assert for_reader(refused, GERMAN, BOOK, only_quotes=True).nearest == ()
