"""A collector endpoint → a tracer and a meter that export to it over OTLP/HTTP from background threads."""

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
CLOSE_SECONDS = 3.0  #: to send the remaining data; an unreachable collector does not delay the shutdown further


class Exporting(NamedTuple):
    """What the service records with."""

    tracer: Tracer
    meter: Meter


@asynccontextmanager
async def exporting(endpoint: str, *, version: str) -> AsyncIterator[Exporting]:
    """Exports until the block ends, then sends the remaining data.

    If the collector is unreachable, data is lost and the loss is logged. `Misconfigured` if the exporter packages are
    not installed.
    """
    try:
        from bookwise.adapters.otlp import start_providers  # loads the OpenTelemetry SDK, an optional package: 0.15 s
    except ImportError:
        raise Misconfigured(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but the telemetry packages are not installed.",
            advice="Run `pip install 'bookwise[telemetry]'`, or unset the variable.",
        ) from None
    providers = start_providers(endpoint, service=SERVICE, version=version)
    try:
        yield Exporting(providers.traces.get_tracer(SERVICE, version), providers.metrics.get_meter(SERVICE, version))
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_shut_down, *providers)


def _shut_down(*providers: "TracerProvider | MeterProvider") -> None:
    """Sends the remaining data. Daemon threads that take longer are abandoned and do not block the process."""
    threads = [Thread(target=provider.shutdown, daemon=True) for provider in providers]
    for thread in threads:
        thread.start()
    deadline = monotonic() + CLOSE_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))
