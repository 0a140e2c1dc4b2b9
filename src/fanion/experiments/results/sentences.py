"""The words of verdicts.

Source: experiments.md, section 6, "Verdicts".
"""

from fanion.experiments.results.schemas import IntervalBody, MetricBody, VariantBody


def percent(share: float, *, signed: bool = False) -> str:
    """Return a share as text, with a real minus sign."""
    text = f"{abs(share) * 100:,.1f} %"
    if share < 0 and text != "0.0 %":
        return f"−{text}"
    return f"+{text}" if signed else text


def number(value: float, *, signed: bool = False) -> str:
    text = f"{abs(value):,.4g}"
    if value < 0:
        return f"−{text}"
    return f"+{text}" if signed else text


def units(count: int, *, are_groups: bool) -> str:
    return f"{count:,} {'groups' if are_groups else 'people'}"


def range_of(variant: VariantBody) -> str:
    """Return both bounds of a change with their signs, empty without bounds."""
    of_lift, of_difference = _bounds(variant.lift), _bounds(variant.difference)
    if of_lift is not None:
        return " and ".join(percent(bound, signed=True) for bound in of_lift)
    if of_difference is not None:
        return " and ".join(number(bound, signed=True) for bound in of_difference)
    return ""


def gain(metric: MetricBody, variant: VariantBody, baseline: str) -> str:
    """Return by how much a better variant is better."""
    word = "more" if metric.goal == "increase" else "fewer"
    return f"{_size(variant)} {word} {_noun(metric)} than {baseline}"


def loss(metric: MetricBody, variant: VariantBody, baseline: str) -> str:
    """Return by how much a worse variant is worse."""
    if metric.goal == "decrease":
        return f"{variant.key} has {_size(variant)} more {_noun(metric)} than {baseline}"
    return f"{variant.key} loses {_size(variant)} of {_noun(metric)}"


def _bounds(interval: IntervalBody) -> tuple[float, float] | None:
    if interval.low is None or interval.high is None:
        return None
    return interval.low, interval.high


def _size(variant: VariantBody) -> str:
    """Return the range of a change without its direction."""
    of_lift = _bounds(variant.lift)
    if of_lift is not None:
        low, high = sorted(abs(bound) for bound in of_lift)
        return f"between {percent(low)} and {percent(high)}"
    low, high = sorted(abs(bound) for bound in _bounds(variant.difference) or (0.0, 0.0))
    return f"between {number(low)} and {number(high)}"


def _noun(metric: MetricBody) -> str:
    if metric.metric_type == "funnel":
        return "conversions"
    return "people who come back" if metric.metric_type == "retention" else f"“{metric.name}”"
