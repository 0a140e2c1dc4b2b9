"""Questions as clients save them, and their results in the cache.

Source: cohorts.md, sections 21 and 22.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any, Final, Self
from zoneinfo import ZoneInfo

import msgspec

from fanion.insights.dates.ranges import RangeClock
from fanion.insights.query import InsightQuery

# An older result is not returned.
RESULT_MAX_AGE = timedelta(days=7)
# A younger result is not calculated again, unless the client asks to refresh it.
FRESH_AGE = timedelta(minutes=15)
FRESH_AGE_BY_HOUR = timedelta(minutes=1)

# What its text stands for `{filters}` is beside the text.
_SQL: Final = "HogQLQuery"

_encode = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question as it was sent: `filters`, or a `query` of newer clients and empty filters."""

    filters: Mapping[str, Any]
    query: Mapping[str, Any] | None = None

    def on_dashboard(self, dashboard: Mapping[str, Any]) -> Self:
        """Return the question with the filters of a dashboard.

        The dashboard's date range replaces that of the question, and its conditions are added.
        """
        if self.query is not None:
            return replace(self, query=query_on_dashboard(self.query, dashboard))
        return replace(self, filters=filters_on_dashboard(self.filters, dashboard))


@dataclass(frozen=True, slots=True)
class CachedResult:
    """The result of a question in the cache, if there is one.

    Attributes:
        result: None until it was calculated. An object with `results` has more beside them.
        is_refused: Whether the question cannot be calculated; an older result may be there.
    """

    result: Any
    calculated_at: datetime | None
    is_cached: bool
    is_refused: bool = False

    @property
    def results(self) -> Any:
        return self.result["results"] if has_beside(self.result) else self.result

    @property
    def beside(self) -> Mapping[str, Any]:
        """Return what an answer has beside its results, such as `hasMore` or `nodes`."""
        if not has_beside(self.result):
            return {}
        return {name: value for name, value in self.result.items() if name != "results"}


def without_people_urls(answer: CachedResult) -> CachedResult:
    """Return an answer a fifth as large, for clients that know how to ask for the persons."""
    return replace(answer, result=without_fields(answer.result, PEOPLE_URLS))


def has_beside(result: Any) -> bool:
    """Return whether the result of a question is an object with `results` and more beside them."""
    return isinstance(result, dict) and "results" in result


def without_cost(beside: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an answer has beside its results, except what it took to calculate."""
    return {name: value for name, value in beside.items() if name not in ("rows_read", "seconds")}


# The fields of results that are addresses of the persons behind a number.
PEOPLE_URLS: Final = frozenset({"url", "people_url", "converted_people_url", "dropped_people_url"})


def without_fields(value: Any, names: Collection[str]) -> Any:
    """Return JSON without the fields of these names, at any depth."""
    if isinstance(value, Mapping):
        return {
            name: without_fields(part, names) for name, part in value.items() if name not in names
        }
    if isinstance(value, list):
        return [without_fields(part, names) for part in value]
    return value


NO_RESULT = CachedResult(None, None, is_cached=False)


def filters_on_dashboard(
    filters: Mapping[str, Any], dashboard: Mapping[str, Any]
) -> dict[str, Any]:
    """Return filters with those of a dashboard, as `SavedQuestion.on_dashboard` applies them."""
    return {**filters, **_range_of(dashboard), **_conditions_of(filters, dashboard)}


def query_on_dashboard(query: Mapping[str, Any], dashboard: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query, in any wrappers, with the filters of a dashboard."""
    source, filters = query.get("source"), query.get("filters")
    if isinstance(source, dict):
        return {**query, "source": query_on_dashboard(source, dashboard)}
    if query.get("kind") == _SQL:
        within = query_on_dashboard(filters if isinstance(filters, dict) else {}, dashboard)
        return {**query, "filters": within} if within else dict(query)
    own = query.get("dateRange")
    span = {**(own if isinstance(own, dict) else {}), **_range_of(dashboard)}
    within = {"dateRange": span} if span else {}
    return {**query, **within, **_conditions_of(query, dashboard)}


def _range_of(dashboard: Mapping[str, Any]) -> dict[str, Any]:
    if not dashboard.get("date_from") and not dashboard.get("date_to"):
        return {}
    return {"date_from": dashboard.get("date_from"), "date_to": dashboard.get("date_to")}


def _conditions_of(question: Mapping[str, Any], dashboard: Mapping[str, Any]) -> dict[str, Any]:
    own, added = question.get("properties"), dashboard.get("properties")
    if not added:
        return {}
    if not own:
        return {"properties": added}
    return {"properties": {"type": "AND", "values": [_group(own), _group(added)]}}


def _group(conditions: Any) -> Any:
    if isinstance(conditions, dict) and "values" in conditions:
        return conditions
    listed = conditions if isinstance(conditions, list) else [conditions]
    return {"type": "AND", "values": listed}


def filters_hash(question: SavedQuestion, zone: str) -> str:
    """Return an identifier of filters or a query, independent of the order of names."""
    content = question.filters if question.query is None else question.query
    return sha256(_encode([content, zone])).hexdigest()[:40]


def is_fresh(query: InsightQuery, calculated_at: datetime, now: datetime, zone: ZoneInfo) -> bool:
    """Return whether a result is recent and about the same days as now."""
    age = now - calculated_at
    by_hour = query.interval in ("minute", "hour")
    if not timedelta() <= age < (FRESH_AGE_BY_HOUR if by_hour else FRESH_AGE):
        return False
    if query.scope.since.is_all:
        return calculated_at.astimezone(zone).date() == now.astimezone(zone).date()
    if query.scope.is_explicit:  # its range moves with every microsecond
        return True
    then, today = (query.span(RangeClock(moment, zone)) for moment in (calculated_at, now))
    return then == today
