"""The query of a trend, parsed from an insight's `filters`.

source: cohorts.md sections 20 to 23
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanion.errors import Invalid
from fanion.insights.date_range import (
    Bound,
    DateRange,
    Interval,
    RangeClock,
    parse_bound,
    parse_interval,
    resolve,
    widened,
)
from fanion.insights.series import (
    Breakdown,
    Series,
    cohort_ids,
    parse_breakdown,
    parse_filter,
    parse_series,
)
from fanion.properties.filters import ConditionGroup, Node
from fanion.rest.posthog_insight_fields import DISPLAYS, DISPLAYS_OF_SERIES, DISPLAYS_OF_TOTALS

VALUES_MAX = 25  # of a breakdown; the rest is one entry

_TRUE, _FALSE = (True, "true", "True", "1", 1), (None, "", False, "false", "False", "0", 0)
# Options that are not supported, with their off values. Any other value is refused, because
# ignoring it would give a wrong result.
UNSUPPORTED_OPTIONS: Mapping[str, tuple[object, ...]] = {
    "smoothing_intervals": (0, 1, "0", "1"),
    "breakdown_limit": (VALUES_MAX, str(VALUES_MAX)),
    "breakdown_hide_other_aggregation": _FALSE[2:],
    "breakdown_histogram_bin_count": (),
    "breakdown_normalize_url": _FALSE[2:],
    "breakdowns": ([],),
    "formulas": ([],),
    "formulaNodes": ([],),
    "compare_to": (),
    "aggregation_group_type_index": (),
    "shown_as": ("Volume",),
    # The values beyond the largest are one entry, and have no pages.
    "offset": (0, "0"),
}
_UNSUPPORTED_DISPLAYS = DISPLAYS - DISPLAYS_OF_SERIES - DISPLAYS_OF_TOTALS


@dataclass(frozen=True, slots=True)
class TrendsQuery:
    """totals:      one number for the whole range instead of one for each interval
    is_explicit: the range is not rounded
    filter_test_accounts: whether the project's conditions on test accounts count too
    """

    series: tuple[Series, ...]
    properties: Node | None
    since: Bound
    until: Bound
    interval: Interval
    breakdown: Breakdown | None
    totals: bool
    compare: bool
    is_explicit: bool = False
    filter_test_accounts: bool = False

    @property
    def effective_interval(self) -> Interval:
        """A total over the whole range has no intervals; its range is rounded to days."""
        return "day" if self.totals else self.interval

    def span(self, clock: RangeClock) -> DateRange:
        """The range whose events are counted. raises: Invalid

        source: insights.md section 2c
        """
        interval = self.effective_interval
        span = resolve(self.since, self.until, interval, clock, is_explicit=self.is_explicit)
        return span if self.is_explicit else widened(span, interval, clock.zone)

    def cohort_ids(self) -> list[int]:
        """The cohorts that filters name, each once."""
        return cohort_ids([self.properties, *(one.properties for one in self.series)])


def for_project(query: TrendsQuery, test_account_filters: Sequence[Any]) -> TrendsQuery:
    """The query with the conditions of the project that it asks for. raises: Invalid

    source: insights.md section 2b
    """
    if not query.filter_test_accounts:
        return query
    own = parse_filter(list(test_account_filters), "filter_test_accounts")
    both = tuple(node for node in (query.properties, own) if node is not None)
    properties = ConditionGroup("AND", both) if both else None
    return replace(query, properties=properties, filter_test_accounts=False)


def excludes_test_accounts(filters: Mapping[str, Any]) -> bool:
    """filters: not yet validated"""
    return filters.get("filter_test_accounts") in _TRUE


def parse_trends(filters: Mapping[str, Any]) -> TrendsQuery:
    """filters: decoded JSON, or the text of a query string. raises: Invalid"""
    kind = filters.get("insight") or "TRENDS"
    if not isinstance(kind, str) or kind.upper() != "TRENDS":
        raise Invalid("Only trends can be calculated.", attr="insight")
    for unsupported in ("actions", "formula"):
        if filters.get(unsupported):
            raise Invalid(f"Trends with {unsupported} are not supported.", attr=unsupported)
    for option, off in UNSUPPORTED_OPTIONS.items():
        _check_off(filters.get(option), option, off)
    display = filters.get("display")
    if isinstance(display, str) and display in _UNSUPPORTED_DISPLAYS:
        raise Invalid(f"Trends with display {display} are not supported.", attr="display")
    return TrendsQuery(
        series=parse_series(filters.get("events")),
        properties=parse_filter(filters.get("properties"), "properties"),
        since=parse_bound(filters.get("date_from"), "date_from"),
        until=parse_bound(filters.get("date_to"), "date_to"),
        interval=parse_interval(filters.get("interval")),
        breakdown=parse_breakdown(filters),
        totals=isinstance(display, str) and display in DISPLAYS_OF_TOTALS,
        compare=_is_true(filters, "compare"),
        is_explicit=_is_true(filters, "explicit_date"),
        filter_test_accounts=_is_true(filters, "filter_test_accounts"),
    )


def _check_off(value: object, option: str, off: tuple[object, ...]) -> None:
    """raises: Invalid"""
    if value in (None, "") or any(type(value) is type(one) and value == one for one in off):
        return
    raise Invalid(f"Trends with {option} are not supported. Leave it out.", attr=option)


def _is_true(filters: Mapping[str, Any], name: str) -> bool:
    """raises: Invalid"""
    value = filters.get(name)
    if isinstance(value, str | int | None) and value in _TRUE + _FALSE:
        return value in _TRUE
    raise Invalid("Must be a valid boolean.", attr=name)
