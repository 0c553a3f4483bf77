"""The address of a collector → a tracer and a meter that export to it over OTLP/HTTP, in threads of their own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

import anyio
from opentelemetry.metrics import Meter
from opentelemetry.trace import Tracer

from bookwise.domain.errors import Misconfigured

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider

SERVICE = "bookwise"
CLOSE_SECONDS = 3.0  #: for what is still to be sent; a collector that is down holds nobody up


class Exporting(NamedTuple):
    tracer: Tracer
    meter: Meter


@asynccontextmanager
async def exporting(endpoint: str, *, version: str) -> AsyncIterator[Exporting]:
    """What is recorded until the end is sent, unless the collector is down: then it is lost, and only logged."""
    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise Misconfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but what exports telemetry is not installed.",
            advice="Run `pip install 'bookwise[telemetry]'`, or unset the variable.",
        ) from None
    named = OTELResourceDetector().detect().attributes  # by the standard variables, such as OTEL_SERVICE_NAME
    resource = Resource.create({"service.name": SERVICE, "service.version": version, **named})
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{endpoint}/v1/metrics"))
    metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
    try:
        yield Exporting(traces.get_tracer(SERVICE, version), metrics.get_meter(SERVICE, version))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_closed, traces, metrics)


def _closed(*providers: "TracerProvider | MeterProvider") -> None:
    """Sends the rest. Threads that would wait for longer are left behind; they do not hold up the process."""
    closing = [Thread(target=provider.shutdown, daemon=True) for provider in providers]
    for thread in closing:
        thread.start()
    ends = monotonic() + CLOSE_SECONDS
    for thread in closing:
        thread.join(max(0.0, ends - monotonic()))
