"""All figures of trust, in their order."""

from benchmarks.trust.figure import Figure

FIGURES: tuple[Figure, ...] = ()
