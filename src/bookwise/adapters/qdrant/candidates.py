"""Raw scores of an engine → candidates with both scores on their scales."""

from collections.abc import Mapping

from bookwise.adapters.qdrant import lexical
from bookwise.adapters.qdrant.schema import lesson_of
from bookwise.domain.search import Candidate


def to_candidates(cosines: Mapping[int, float], scores: Mapping[int, float], maximum: float) -> list[Candidate]:
    """One candidate per point that has a cosine. A point without a raw word score shares no word with the question.

    `maximum` is the highest raw word score that the question allows.
    """
    return [
        Candidate(
            ref=ref,
            lesson=lesson_of(ref),
            cosine=cosine,
            lexical=lexical.normalize_score(scores.get(ref, 0.0), maximum),
        )
        for ref, cosine in cosines.items()
    ]
