"""All figures of trust, in their order."""

from benchmarks.trust import losses
from benchmarks.trust.figure import Figure

FIGURES: tuple[Figure, ...] = (losses.FIGURE,)
