"""What is exported over OTLP/HTTP into spans and figures, as a collector on loopback reads them."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan

from tests.support.scripted_http import Reply, Request, answering


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One span; ids as in a `traceparent`."""

    name: str
    trace_id: str
    id: str
    parent_id: str
    kind: str
    start: int
    end: int
    failed: bool
    attributes: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One row of a histogram."""

    count: int
    total: float
    attributes: dict[str, Any]


@dataclass(slots=True)
class Collector:
    """What arrived so far."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    resources: list[dict[str, Any]] = field(default_factory=list)
    figures: dict[str, list[Point]] = field(default_factory=dict)  #: as last exported
    raw: bytes = b""

    def one(self, name: str) -> Span:
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, f"{name!r} among {[span.name for span in self.spans]}"
        return found[0]

    def receive(self, request: Request) -> Reply:
        self.raw += request.body
        if request.target == "/v1/traces":
            self._keep_spans(ExportTraceServiceRequest.FromString(request.body))
        elif request.target == "/v1/metrics":
            self._keep_figures(ExportMetricsServiceRequest.FromString(request.body))
        else:
            return Reply(status=404)
        return Reply(headers={"Content-Type": "application/x-protobuf"})

    def _keep_spans(self, sent: ExportTraceServiceRequest) -> None:
        for resource in sent.resource_spans:
            self.resources.append(_attributes(resource.resource.attributes))
            for scope in resource.scope_spans:
                self.spans.extend(map(_span, scope.spans))

    def _keep_figures(self, sent: ExportMetricsServiceRequest) -> None:
        for resource in sent.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    self.figures[metric.name] = [
                        Point(count=point.count, total=point.sum, attributes=_attributes(point.attributes))
                        for point in metric.histogram.data_points
                    ]


def _span(sent: WireSpan) -> Span:
    return Span(
        name=sent.name,
        trace_id=sent.trace_id.hex(),
        id=sent.span_id.hex(),
        parent_id=sent.parent_span_id.hex(),
        kind=WireSpan.SpanKind.Name(sent.kind).removeprefix("SPAN_KIND_"),
        start=sent.start_time_unix_nano,
        end=sent.end_time_unix_nano,
        failed=sent.status.code == sent.status.STATUS_CODE_ERROR,
        attributes=_attributes(sent.attributes),
    )


def _attributes(sent: Iterable[KeyValue]) -> dict[str, Any]:
    return {entry.key: getattr(entry.value, entry.value.WhichOneof("value") or "string_value") for entry in sent}


@asynccontextmanager
async def collecting() -> AsyncIterator[Collector]:
    """A collector that takes whatever is sent."""
    collector = Collector()
    async with answering(collector.receive) as server:
        collector.url = server.url
        yield collector
