"""The reference of metrics, read from those that a server registers."""

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric
from prometheus_client.metrics import MetricWrapperBase

from docs_site.reference.markdown import code, plain, table
from fanion.observability.metrics import Metrics


def metrics_table() -> str:
    """Return the table that the page on observing has in place of the link to the metrics."""
    rows = (
        (code(f"{name}{{{','.join(labels)}}}" if labels else name), kind, plain(text))
        for name, kind, labels, text in iter_metrics()
    )
    return table(("Metric", "Type", "Meaning"), rows)


def iter_metrics() -> Iterator[tuple[str, str, tuple[str, ...], str]]:
    """Yield name, type, labels and meaning of each metric that a server has."""
    metrics = Metrics()
    metrics.describe_server()
    assert metrics.server is not None
    metrics.server.measure()
    labels = {
        family.name: metric._labelnames
        for metric in metrics.registry._collector_to_names
        if isinstance(metric, MetricWrapperBase)
        for family in metric.describe()
    }
    for family in metrics.registry.collect():
        end = "_total" if family.type == "counter" else ""
        yield family.name + end, family.type, _labels(family, labels), family.documentation


def _labels(family: Metric, labels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the labels of a metric; only families that a collector makes know theirs."""
    return labels[family.name] if family.name in labels else vars(family)["_labelnames"]
