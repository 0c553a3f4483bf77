"""All figures of trust, in their order."""

from benchmarks.trust.atomicity import FIGURE as ATOMICITY
from benchmarks.trust.exactly_once import FIGURE as EXACTLY_ONCE
from benchmarks.trust.figure import Figure
from benchmarks.trust.hostile_content import FIGURE as HOSTILE_CONTENT
from benchmarks.trust.ingest_while_serving import FIGURE as INGEST_WHILE_SERVING
from benchmarks.trust.isolation import FIGURE as ISOLATION
from benchmarks.trust.load import FIGURE as LOAD
from benchmarks.trust.losses import FIGURE as LOSSES
from benchmarks.trust.model_faults import FIGURE as MODEL_FAULTS
from benchmarks.trust.outage import FIGURE as OUTAGE
from benchmarks.trust.soak import FIGURE as SOAK
from benchmarks.trust.stream_hygiene import FIGURE as STREAM_HYGIENE
from benchmarks.trust.surprises import FIGURE as SURPRISES

FIGURES: tuple[Figure, ...] = (
    LOSSES,
    ATOMICITY,
    INGEST_WHILE_SERVING,
    MODEL_FAULTS,
    OUTAGE,
    STREAM_HYGIENE,
    LOAD,
    SOAK,
    ISOLATION,
    EXACTLY_ONCE,
    HOSTILE_CONTENT,
    SURPRISES,
)
