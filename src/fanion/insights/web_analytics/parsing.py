"""Parsing of the questions of web analytics, which only have the newer form.

Every function raises Invalid for a field that it cannot read.

Source: insights.md, sections 1c and 11.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from fanion.insights.parsing.fields import Fields, check_sampling
from fanion.insights.web_analytics.clicks.query import WebExternalClicksTableQuery
from fanion.insights.web_analytics.over_time.query import WebTrendsQuery
from fanion.insights.web_analytics.query import (
    GOAL,
    WebGoalsQuery,
    WebOverviewQuery,
    WebQuery,
    WebStatsTableQuery,
    read_goal,
)
from fanion.rest.options import read

GOALS_MAX = 10
_Query = TypeVar("_Query", bound=WebQuery)

# Maps the place of a name in a `query` to the name by which the parts of every question are read.
_NAMES: Final[Mapping[tuple[str, str], str]] = {
    ("dateRange", "date_from"): "date_from",
    ("dateRange", "date_to"): "date_to",
    ("dateRange", "explicitDate"): "explicit_date",
    ("compareFilter", "compare"): "compare",
    ("compareFilter", "compare_to"): "compare_to",
    ("", "filterTestAccounts"): "filter_test_accounts",
    ("", "samplingFactor"): "sampling_factor",
}
# Names that do not change the answer.
_PASSED_OVER: Final = frozenset({"kind", "response", "tags", "version", "useSessionsTable"})


def read_web_overview(fields: Fields) -> WebOverviewQuery:
    own = _by_name(fields)
    own.boolean("doPathCleaning")  # the answer names no page
    return _read(WebOverviewQuery, own)


def read_web_stats(fields: Fields) -> WebStatsTableQuery:
    own = _by_name(fields)
    if own.raw("breakdownBy") is None:
        raise fields.required("breakdownBy")
    return _read(WebStatsTableQuery, own)


def read_web_goals(fields: Fields) -> WebGoalsQuery:
    """Parse the question of goals.

    PostHog's goals are all its actions. Here `goals` names events and actions, each as a conversion
    goal does.
    """
    own = _by_name(fields)
    own.boolean("doPathCleaning")  # the answer names no page
    single = GOAL.read(own, GOAL.name, {})
    listed = [read_goal(item) for item in own.items("goals", GOALS_MAX)]
    goals = dict.fromkeys([*([] if single is None else [single]), *listed])
    return _read(WebGoalsQuery, own, goals=tuple(goals))


def read_web_trends(fields: Fields) -> WebTrendsQuery:
    own = _by_name(fields)
    own.boolean("doPathCleaning")  # the answer names no page
    return _read(WebTrendsQuery, own)


def read_external_clicks(fields: Fields) -> WebExternalClicksTableQuery:
    own = _by_name(fields)
    own.boolean("doPathCleaning")  # the answer names no page of the site
    return _read(WebExternalClicksTableQuery, own)


def _read(kind: type[_Query], fields: Fields, **given: Any) -> _Query:
    query = read(kind, fields, **given)
    if fields.raw("aggregation_group_type_index") is not None:
        detail = "Web analytics counts persons. Leave it out."
        raise fields.error("aggregation_group_type_index", detail)
    fields.refuse_unread(kind.__name__, _PASSED_OVER)
    return query


def _by_name(fields: Fields) -> Fields:
    """Return the options of inner objects beside the others, by the names of all questions."""
    values: dict[str, Any] = {}
    places: dict[str, str] = {}
    for outer, inner, value in _options(fields):
        name = _NAMES.get((outer, inner), f"{outer}__{inner}" if outer else inner)
        values[name] = value
        places[name] = fields.place(f"{outer}__{inner}" if outer else inner)
    own = Fields(values, places)
    check_sampling(own.raw("sampling_factor"), own.place("sampling_factor"))
    _refuse_sampling(own)
    return own


def _refuse_sampling(fields: Fields) -> None:
    """Raise Invalid if `sampling` is switched on."""
    sampling = fields.inner("sampling")
    if sampling is not None and sampling.boolean("enabled"):
        detail = "Sampling is not supported, since answers are exact. Leave it out."
        raise sampling.error("enabled", detail)


def _options(fields: Fields) -> Iterator[tuple[str, str, Any]]:
    for name in fields.values:
        inner = fields.inner(name) if name in ("dateRange", "compareFilter") else None
        if inner is not None:
            yield from ((name, option, inner.values[option]) for option in inner.values)
        else:
            yield "", name, fields.values[name]
