"""OTLP/HTTP exporters for traces and metrics. Loads the OpenTelemetry SDK, an optional package."""

from typing import NamedTuple

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


class Providers(NamedTuple):
    """The sources of tracers and meters. Both export from background threads until they are shut down."""

    traces: TracerProvider
    metrics: MeterProvider


def start_providers(endpoint: str, *, service: str, version: str) -> Providers:
    """Providers that export to the collector at `endpoint`."""
    attributes = OTELResourceDetector().detect().attributes  # from the standard variables, such as OTEL_SERVICE_NAME
    resource = Resource.create({"service.name": service, "service.version": version, **attributes})
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces")))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{endpoint}/v1/metrics"))
    return Providers(traces, MeterProvider([reader], resource=resource, shutdown_on_exit=False))
