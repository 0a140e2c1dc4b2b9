"""The traces and metrics of a process, sent to a receiver of OpenTelemetry, if one is named."""

import asyncio
import os
import platform
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from importlib.util import find_spec
from threading import Thread
from typing import TYPE_CHECKING, Final

from fanion import __version__
from fanion.config import OtelSettings, Settings, SettingsError
from fanion.observability.metrics import Metrics
from fanion.observability.tracing import NO_TRACING, Tracing
from fanion.runtime.background import BackgroundTask, run_loop

if TYPE_CHECKING:  # loaded where it is used: it takes some megabytes and a fifth of a second
    from opentelemetry.sdk.resources import Resource
    from prometheus_client.core import Metric

    from fanion.observability.otel_metrics import MetricsExport

EXPORTER: Final = "opentelemetry.exporter.otlp.proto.http"
# How long the end of a process waits for the last metrics to be sent.
CLOSE_S_MAX: Final = 3.0


def require_library(otel: OtelSettings) -> None:
    """Raise SettingsError if telemetry is to be sent and its library is not installed."""
    if otel.is_on and not _is_installed():
        raise SettingsError(
            "OTEL_EXPORTER_OTLP_ENDPOINT: the library that sends telemetry is not installed; "
            "install opentelemetry-exporter-otlp-proto-http, or set OTEL_SDK_DISABLED=true"
        )


def _is_installed() -> bool:
    try:
        return find_spec(EXPORTER) is not None
    except ModuleNotFoundError:
        return False


def open_tracing(settings: Settings, otel: OtelSettings) -> Tracing:
    """Return the traces of this process."""
    if not otel.traces:
        return NO_TRACING
    from fanion.observability.export_failures import ExportFailures
    from fanion.observability.otel_tracing import OtelTracing

    return OtelTracing(_resource(settings), ExportFailures("trace"))


def metrics_sender(
    settings: Settings,
    otel: OtelSettings,
    metrics: Metrics,
    refresh: Callable[[], Awaitable[None]],
) -> list[BackgroundTask]:
    """Return the task that sends metrics, or none.

    Args:
        refresh: Updates the metrics that are measured on request.
    """
    return [partial(_send_metrics, settings, otel, metrics, refresh)] if otel.metrics else []


async def _send_metrics(
    settings: Settings,
    otel: OtelSettings,
    metrics: Metrics,
    refresh: Callable[[], Awaitable[None]],
) -> None:
    started_ns = time.time_ns()
    export = await asyncio.to_thread(_open_export, settings, started_ns)

    async def measure() -> Iterable["Metric"]:
        await refresh()
        await metrics.measure_server()
        return list(metrics.families())

    async def send() -> None:
        await asyncio.to_thread(export.send, await measure(), time.time_ns())

    try:
        await run_loop(send, otel.metrics_every_s, "telemetry_not_sent", ())
    finally:
        last = partial(export.send, list(metrics.families()), time.time_ns())
        sending = Thread(target=last, name="otel-metrics-close", daemon=True)
        sending.start()
        await asyncio.to_thread(sending.join, CLOSE_S_MAX)
        export.close()


def _open_export(settings: Settings, started_ns: int) -> "MetricsExport":
    from fanion.observability.export_failures import ExportFailures
    from fanion.observability.otel_metrics import MetricsExport

    return MetricsExport(_resource(settings), ExportFailures("metric"), started_ns)


def _resource(settings: Settings) -> "Resource":
    """Describe this server; what the environment says about it wins."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    own: dict[str, str | int] = {
        "service.name": "fanion",
        "service.version": __version__,
        "service.instance.id": f"{platform.node()}:{settings.port}",
        "process.pid": os.getpid(),
        "fanion.roles": ",".join(sorted(settings.roles)),
    }
    given = OTELResourceDetector().detect().attributes
    return Resource.create({name: value for name, value in own.items() if name not in given})
