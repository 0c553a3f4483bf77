"""Prometheus metrics, with a separate registry for each service."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """The metrics of one service. Labels never contain user input, so their number is bounded and nothing leaks."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "bookwise_requests_total", "Requests served.", ("method", "route", "status"), registry=self.registry
        )
        self.request_seconds = Histogram(
            "bookwise_request_seconds",
            "Time to the end of the response.",
            ("route",),
            registry=self.registry,
            buckets=SECONDS,
        )
        self.answers = Counter("bookwise_answers_total", "Answers.", ("outcome", "engine"), registry=self.registry)
        self.answer_seconds = Histogram(
            "bookwise_answer_seconds",
            "Time from question to answer.",
            ("engine",),
            registry=self.registry,
            buckets=SECONDS,
        )
        self.open_streams = Gauge("bookwise_open_streams", "Streams open now.", registry=self.registry)

    def text(self) -> bytes:
        return generate_latest(self.registry)
