"""The metrics of `/metrics`, sent by OTLP over HTTP. Loaded only where that is on."""

import math
from collections.abc import Iterable, Sequence
from typing import cast

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.core import Metric as Family
from prometheus_client.samples import Sample

from fanion import __version__
from fanion.observability.export_failures import ExportFailures

CUMULATIVE = AggregationTemporality.CUMULATIVE
Labels = tuple[tuple[str, str], ...]
# The least and the greatest observation: the encoder leaves them out, the types know no None.
_UNKNOWN = cast("float", None)


class MetricsExport:
    """The sender of metrics.

    Args:
        started_ns: When counting began.
    """

    def __init__(self, resource: Resource, failures: ExportFailures, started_ns: int) -> None:
        self._resource = resource
        self._failures = failures
        self._started_ns = started_ns
        self._exporter = OTLPMetricExporter()

    def send(self, families: Iterable[Family], now_ns: int) -> None:
        """Send what the families hold. This waits for the receiver."""
        metrics = [otel_metric(family, self._started_ns, now_ns) for family in families]
        scope = ScopeMetrics(
            InstrumentationScope("fanion", __version__),
            [metric for metric in metrics if metric.data.data_points],
            schema_url="",
        )
        data = MetricsData([ResourceMetrics(self._resource, [scope], schema_url="")])
        result = self._exporter.export(data)
        self._failures.ended(is_sent=result is MetricExportResult.SUCCESS)

    def close(self) -> None:
        self._exporter.shutdown()


def otel_metric(family: Family, started_ns: int, now_ns: int) -> Metric:
    """Return a metric of Prometheus as one of OpenTelemetry, with the same name."""
    samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
    if family.type in ("histogram", "summary"):
        points = _histogram_points(family.name, samples, started_ns, now_ns)
        return Metric(family.name, family.documentation, "", Histogram(points, CUMULATIVE))
    numbers = [
        NumberDataPoint(sample.labels, started_ns, now_ns, sample.value)
        for sample in samples
        if not math.isnan(sample.value)  # it could not be measured
    ]
    if family.type == "counter":
        total = Sum(numbers, CUMULATIVE, is_monotonic=True)
        return Metric(f"{family.name}_total", family.documentation, "", total)
    return Metric(family.name, family.documentation, "", Gauge(numbers))


def _histogram_points(
    name: str, samples: Iterable[Sample], started_ns: int, now_ns: int
) -> list[HistogramDataPoint]:
    """Return a point for each combination of labels; that of a summary has no bounds."""
    groups: dict[Labels, list[Sample]] = {}
    for sample in samples:
        labels = tuple((label, value) for label, value in sample.labels.items() if label != "le")
        groups.setdefault(labels, []).append(sample)
    return [
        _histogram_point(name, labels, group, started_ns, now_ns)
        for labels, group in groups.items()
    ]


def _histogram_point(
    name: str, labels: Labels, samples: Sequence[Sample], started_ns: int, now_ns: int
) -> HistogramDataPoint:
    values = {sample.name: sample.value for sample in samples}
    count = int(values[f"{name}_count"])
    buckets = [sample for sample in samples if sample.name == f"{name}_bucket"]
    upto = [int(sample.value) for sample in buckets] or [count]
    bounds = [float(sample.labels["le"]) for sample in buckets]
    return HistogramDataPoint(
        attributes=dict(labels),
        start_time_unix_nano=started_ns,
        time_unix_nano=now_ns,
        count=count,
        sum=values[f"{name}_sum"],
        bucket_counts=[number - before for number, before in zip(upto, [0, *upto], strict=False)],
        explicit_bounds=[bound for bound in bounds if not math.isinf(bound)],
        min=_UNKNOWN,
        max=_UNKNOWN,
    )
