"""How candidates are ranked: by meaning, by words, and by the lesson they are in."""

import itertools
import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwise.domain.search import Candidate
from bookwise.retrieval.fuse import ORDER_WEIGHT, ranked

TERMS = 4  #: of the question, where the number does not matter
SCORE = st.floats(0, 1)
CANDIDATES = st.lists(
    st.builds(Candidate, ref=st.integers(0, 40), lesson=st.integers(0, 5), cosine=SCORE, lexical=SCORE),
    max_size=30,
    unique_by=lambda candidate: candidate.ref,
)


def candidate(ref: int, *, lesson: int, cosine: float, lexical: float = 0.0) -> Candidate:
    return Candidate(ref=ref, lesson=lesson, cosine=cosine, lexical=lexical)


def order(*candidates: Candidate) -> list[int]:
    return [match.candidate.ref for match in ranked(candidates, TERMS)]


@given(CANDIDATES, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_input(candidates: list[Candidate], random: Random) -> None:
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert ranked(shuffled, TERMS) == ranked(candidates, TERMS)


@given(CANDIDATES)
def test_no_candidate_is_dropped_or_repeated(candidates: list[Candidate]) -> None:
    assert sorted(match.candidate for match in ranked(candidates, TERMS)) == sorted(candidates)


@given(CANDIDATES)
def test_relevance_never_grows_down_the_list(candidates: list[Candidate]) -> None:
    relevance = [match.relevance for match in ranked(candidates, TERMS)]
    assert relevance == sorted(relevance, reverse=True)


@given(CANDIDATES)
def test_within_a_lesson_the_better_match_comes_first(candidates: list[Candidate]) -> None:
    def own(one: Candidate) -> float:
        return one.cosine + ORDER_WEIGHT * math.log(1 + TERMS) * one.lexical

    for lesson in {one.lesson for one in candidates}:
        matches = [match.candidate for match in ranked(candidates, TERMS) if match.candidate.lesson == lesson]
        for better, worse in itertools.pairwise(matches):
            assert own(better) >= own(worse) or math.isclose(own(better), own(worse), abs_tol=1e-9)


def test_words_in_common_lift_a_chunk_above_one_that_is_only_a_little_closer_in_meaning() -> None:
    assert order(candidate(1, lesson=1, cosine=0.60), candidate(2, lesson=2, cosine=0.55, lexical=0.4)) == [2, 1]


def test_in_a_long_question_shared_words_count_more_because_each_is_a_smaller_share() -> None:
    near, sharing = candidate(1, lesson=1, cosine=0.60), candidate(2, lesson=2, cosine=0.45, lexical=0.2)
    assert [match.candidate.ref for match in ranked([near, sharing], 2)] == [1, 2]
    assert [match.candidate.ref for match in ranked([near, sharing], 20)] == [2, 1]


def test_the_number_of_terms_does_not_change_a_strength() -> None:
    """The calibrated scale that refusals rest on means the same for every question."""
    one = candidate(1, lesson=1, cosine=0.6, lexical=0.4)
    assert ranked([one], 1)[0].strength == ranked([one], 30)[0].strength


def test_between_equal_chunks_the_one_from_the_lesson_with_more_about_it_wins() -> None:
    alone = candidate(1, lesson=1, cosine=0.6)
    supported = candidate(2, lesson=2, cosine=0.6)
    assert order(alone, supported, candidate(3, lesson=2, cosine=0.5)) == [2, 1, 3]


def test_support_comes_from_the_two_best_chunks_and_weak_chunks_take_nothing_away() -> None:
    """A long lesson has many chunks about other things; they must not cost its best chunk the first place."""
    best_of_long_lesson = candidate(9, lesson=1, cosine=0.70)
    rest = [candidate(9 + n, lesson=1, cosine=0.05) for n in range(1, 6)]
    short_lesson = [candidate(1, lesson=2, cosine=0.70), candidate(2, lesson=2, cosine=0.60)]
    assert order(best_of_long_lesson, candidate(8, lesson=1, cosine=0.65), *rest, *short_lesson)[0] == 9


def test_a_strength_is_the_cosine_plus_half_the_words_plus_three_tenths_of_the_lessons_support() -> None:
    """The calibrations that ship with the embedders were fitted on this scale."""
    matches = ranked(
        [
            candidate(1, lesson=1, cosine=0.6, lexical=0.4),
            candidate(2, lesson=1, cosine=0.3, lexical=0.2),
            candidate(3, lesson=1, cosine=0.1),
            candidate(4, lesson=2, cosine=0.5),
        ],
        TERMS,
    )
    strengths = {match.candidate.ref: match.strength for match in matches}
    support = (0.8 + 0.4) / 2
    assert strengths == pytest.approx(
        {1: 0.8 + 0.3 * support, 2: 0.4 + 0.3 * support, 3: 0.1 + 0.3 * support, 4: 0.5 + 0.3 * 0.5 / 2}
    )
