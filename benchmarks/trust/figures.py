"""All figures of trust, in their order."""

from benchmarks.trust.atomicity import FIGURE as ATOMICITY
from benchmarks.trust.exactly_once import FIGURE as EXACTLY_ONCE
from benchmarks.trust.figure import Figure
from benchmarks.trust.ingest_while_serving import FIGURE as INGEST_WHILE_SERVING
from benchmarks.trust.losses import FIGURE as LOSSES
from benchmarks.trust.soak import FIGURE as SOAK
from benchmarks.trust.surprises import FIGURE as SURPRISES

FIGURES: tuple[Figure, ...] = (
    LOSSES,
    ATOMICITY,
    INGEST_WHILE_SERVING,
    SOAK,
    EXACTLY_ONCE,
    SURPRISES,
)
