"""All figures of trust, in their order."""

from benchmarks.trust.figure import Figure
from benchmarks.trust.hostile_content import FIGURE as HOSTILE_CONTENT
from benchmarks.trust.isolation import FIGURE as ISOLATION
from benchmarks.trust.load import FIGURE as LOAD
from benchmarks.trust.model_faults import FIGURE as MODEL_FAULTS
from benchmarks.trust.outage import FIGURE as OUTAGE
from benchmarks.trust.stream_hygiene import FIGURE as STREAM_HYGIENE

FIGURES: tuple[Figure, ...] = (
    MODEL_FAULTS,
    OUTAGE,
    STREAM_HYGIENE,
    LOAD,
    ISOLATION,
    HOSTILE_CONTENT,
)
