"""Two legs' scores → one match strength."""

from dataclasses import dataclass

from bookwise.domain.search import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionOptions:
    """How much a full match of words adds to the cosine."""

    lexical_weight: float = 0.5


def strength(candidate: Candidate, options: FusionOptions) -> float:
    """Cosine, lifted by the words the chunk shares with the question.

    Both terms are absolute (a cosine; a share of the question's weight in rare words), so the sum means the
    same in every search and can be calibrated, which a rank or a score relative to the best hit cannot.
    """
    return candidate.cosine + options.lexical_weight * candidate.lexical


def ranked(candidates: list[Candidate], options: FusionOptions) -> list[Candidate]:
    """Strongest first; ties by reference, so that the order never depends on the order of the input."""
    return sorted(candidates, key=lambda c: (-strength(c, options), c.ref))
