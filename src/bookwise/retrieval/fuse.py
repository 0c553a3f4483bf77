"""Two legs' scores → one match strength."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bookwise.domain.search import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionOptions:
    """How much words and the rest of the lesson add to the cosine. Measured on five books at once."""

    lexical_weight: float = 0.5
    support_weight: float = 0.3


class Ranked(NamedTuple):
    """A candidate with its strength."""

    candidate: Candidate
    strength: float


def ranked(candidates: Sequence[Candidate], options: FusionOptions) -> list[Ranked]:
    """Strongest first; ties by reference, so that the order never depends on the order of the input.

    Strength is the cosine, lifted by the words the chunk shares with the question and by how well the two
    best chunks of its lesson match. All terms are absolute, so a strength means the same in every search and
    can be calibrated, which a rank or a score relative to the best hit cannot.
    """
    own = {c.ref: c.cosine + options.lexical_weight * c.lexical for c in candidates}
    support = _support(candidates, own)
    strengths = [Ranked(c, own[c.ref] + options.support_weight * support[c.lesson]) for c in candidates]
    return sorted(strengths, key=lambda r: (-r.strength, r.candidate.ref))


def _support(candidates: Sequence[Candidate], own: dict[int, float]) -> dict[int, float]:
    """Each lesson's mean of its two best candidates; one alone counts half."""
    by_lesson: defaultdict[int, list[float]] = defaultdict(list)
    for candidate in candidates:
        by_lesson[candidate.lesson].append(own[candidate.ref])
    return {lesson: sum(sorted(found)[-2:]) / 2 for lesson, found in by_lesson.items()}
