"""Metrics of experiments as JSON documents, which are kept as clients send them.

Each gets a `uuid` if it has none. A document that equals a stored one is accepted unchecked, so
that an old experiment can always be renamed or ended.

Source: experiments.md section 1c.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from fanion.errors import Invalid
from fanion.experiments.metrics.reading import METRICS_MAX, read_metric
from fanion.insights.entities import Entity

_SPACE: Final = UUID("6f1d2b0e-0a0b-4c53-9d1c-5f6f5b9f4b0a")
_encode = msgspec.json.Encoder(order="deterministic").encode

Metric = dict[str, Any]
# Raises Invalid for an action or a segment that does not exist.
RequireNamed = Callable[[Sequence[Entity]], None]


def read_metrics(
    sent: Sequence[Metric],
    stored: Sequence[Metric],
    attr: str,
    require: RequireNamed,
    *,
    are_guardrails: bool = False,
) -> list[Metric]:
    """Return the metrics of a request as they are stored.

    Args:
        sent: The metrics of the request, which may be stored ones with a fingerprint.
        stored: The metrics that they replace.
        attr: The field of the request.
        require: Checks the actions and segments of new metrics.
        are_guardrails: Whether each may have a tolerance.

    Raises:
        Invalid: A new metric cannot be used, or there are too many.
    """
    if len(sent) > METRICS_MAX:
        raise Invalid(f"Ensure this list has at most {METRICS_MAX} elements.", attr=attr)
    known = {_encode(metric) for metric in stored}
    return [
        _read_metric(index, metric, known, attr, require, are_guardrails)
        for index, metric in enumerate(sent)
    ]


def read_saved_query(sent: Metric, stored: Metric | None, require: RequireNamed) -> Metric:
    """Return the metric of a saved metric as it is stored.

    Args:
        require: Checks the actions and segments of a new metric.

    Raises:
        Invalid: It differs from the stored one and cannot be used.
    """
    metric = _without_fingerprint(sent)
    if metric != stored:
        require(read_metric(metric, "query", is_guardrail=True).entities)  # it may become one
    return metric


def _read_metric(
    index: int,
    sent: Metric,
    known: set[bytes],
    attr: str,
    require: RequireNamed,
    is_guardrail: bool,
) -> Metric:
    metric = _without_fingerprint(sent)
    if _encode(metric) in known:
        return metric
    try:
        require(read_metric(metric, f"{attr}__{index}", is_guardrail=is_guardrail).entities)
    except Invalid as problem:
        detail = f"Invalid metric at index {index}: {problem.detail}"
        raise Invalid(detail, code=problem.code, attr=problem.attr) from None
    if metric.get("uuid"):
        return metric
    return {**metric, "uuid": str(uuid5(_SPACE, f"{index}:{_encode(metric).decode()}"))}


def _without_fingerprint(metric: Metric) -> Metric:
    return {name: value for name, value in metric.items() if name != "fingerprint"}
