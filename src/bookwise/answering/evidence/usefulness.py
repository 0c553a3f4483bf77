"""Evidence → the probability that an answer from it is useful to its reader.

An answer is useful if it holds at least half of the facts that a good answer needs. The model is logistic and has four
signals, each of which can only raise or only lower the probability. Its weights were fitted on the answers to readers'
questions and checked on books that were left out of the fit (docs/benchmarks.md, Readers).
"""

from math import exp

BASE = -3.4
SIMILARITY_WEIGHT = 4.6  #: of the calibrated similarity of the best section
LEAD_WEIGHT = 1.9  #: of the lead of the best section over the second
LEAD_MAX = 0.8  #: a longer lead says nothing more
AGREEMENT_WEIGHT = 0.25  #: when the search put a passage of the best section first
MISSING_NAME_WEIGHT = -0.6  #: when no passage contains all names of the question


def usefulness(*, similarity: float, lead: float, agreement: bool, names_missing: bool) -> float:
    """Returns the probability, between 0 and 1."""
    logit = (
        BASE
        + SIMILARITY_WEIGHT * similarity
        + LEAD_WEIGHT * min(lead, LEAD_MAX)
        + AGREEMENT_WEIGHT * agreement
        + MISSING_NAME_WEIGHT * names_missing
    )
    return 1 / (1 + exp(-logit))
