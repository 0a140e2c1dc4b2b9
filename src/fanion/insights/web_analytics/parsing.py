"""Parsing of the questions of web analytics, which only have the newer form.

Every function raises Invalid for a field that it cannot read.

Source: insights.md, sections 1c and 11.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fanion.insights.parsing.fields import Fields, check_sampling
from fanion.insights.parsing.options import read, read_distance
from fanion.insights.query import Scope
from fanion.insights.web_analytics.query import (
    PAGES,
    WEB_BREAKDOWNS,
    Column,
    Ordering,
    WebGoalsQuery,
    WebOverviewQuery,
    WebStatsTableQuery,
)

ROWS_MAX = 1000
OFFSET_MAX = 100_000
ROWS_DEFAULT = 10
GOALS_MAX = 10

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
_COLUMNS_OF_STATS: Final[Mapping[str, Column]] = {
    "Visitors": "visitors",
    "Views": "views",
    "BounceRate": "bounce_rate",
    "TotalConversions": "total_conversions",
    "UniqueConversions": "unique_conversions",
    "ConversionRate": "conversion_rate",
}
_COLUMNS_OF_GOALS: Final[Mapping[str, Column]] = {
    "ConvertingUsers": "converting_users",
    "TotalConversions": "total_conversions",
    "ConversionRate": "conversion_rate",
}


def read_web_overview(fields: Fields) -> WebOverviewQuery:
    own = _by_name(fields)
    own.boolean("doPathCleaning")  # the answer names no page
    query = WebOverviewQuery(
        scope=read(Scope, own),
        compare=own.boolean("compare"),
        compare_to=read_distance(own, "compare_to", {}),
        goal=_goal(own),
    )
    _refuse_others(own, "WebOverviewQuery")
    return query


def read_web_stats(fields: Fields) -> WebStatsTableQuery:
    own = _by_name(fields)
    breakdown = own.raw("breakdownBy")
    if breakdown is None:
        raise fields.required("breakdownBy")
    query = WebStatsTableQuery(
        scope=read(Scope, own),
        compare=own.boolean("compare"),
        compare_to=read_distance(own, "compare_to", {}),
        breakdown=own.choice("breakdownBy", WEB_BREAKDOWNS, "Page"),
        limit=own.whole("limit", 1, ROWS_MAX) or ROWS_DEFAULT,
        offset=own.whole("offset", 0, OFFSET_MAX) or 0,
        bounce_rate=own.boolean("includeBounceRate"),
        clean_paths=own.boolean("doPathCleaning") and breakdown in PAGES,
        goal=_goal(own),
        ordering=_ordering(own, _COLUMNS_OF_STATS),
    )
    _check_columns(own, query)
    _refuse_others(own, "WebStatsTableQuery")
    return query


def read_web_goals(fields: Fields) -> WebGoalsQuery:
    """Parse the question of goals.

    PostHog's goals are its actions. Here `goals` names events instead, each as a conversion goal
    does.
    """
    own = _by_name(fields)
    own.boolean("doPathCleaning")  # the answer names no page
    single = _goal(own)
    listed = [_event_of(item) for item in own.items("goals", GOALS_MAX)]
    query = WebGoalsQuery(
        scope=read(Scope, own),
        compare=own.boolean("compare"),
        compare_to=read_distance(own, "compare_to", {}),
        goals=tuple(dict.fromkeys([*([] if single is None else [single]), *listed])),
        limit=own.whole("limit", 1, ROWS_MAX) or ROWS_DEFAULT,
        offset=own.whole("offset", 0, OFFSET_MAX) or 0,
        ordering=_ordering(own, _COLUMNS_OF_GOALS),
    )
    _refuse_others(own, "WebGoalsQuery")
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


def _goal(fields: Fields) -> str | None:
    goal = fields.inner("conversionGoal")
    return None if goal is None else _event_of(goal)


def _event_of(goal: Fields) -> str:
    if goal.raw("actionId") is not None:
        raise goal.error("actionId", "Actions are not supported. Use customEventName.")
    event = goal.text("customEventName")
    if event is None:
        raise goal.required("customEventName")
    goal.refuse_unread("Conversion goals", ())
    return event


def _ordering(fields: Fields, columns: Mapping[str, Column]) -> Ordering | None:
    """Parse an order such as `["Visitors", "DESC"]`."""
    sent = fields.texts("orderBy", 2)
    if not sent:
        return None
    parts = Fields({"column": sent[0], "direction": sent[1] if len(sent) > 1 else None})
    place = fields.place("orderBy")
    named = Fields(parts.values, {"column": f"{place}__0", "direction": f"{place}__1"})
    column = columns[named.choice("column", columns, next(iter(columns)))]
    return Ordering(column, named.choice("direction", ("DESC", "ASC"), "DESC") == "DESC")


def _check_columns(fields: Fields, query: WebStatsTableQuery) -> None:
    """Refuse columns that the answer lacks: with a goal, views and bounces are not counted."""
    if query.goal is not None and query.bounce_rate:
        detail = "A conversion goal and includeBounceRate cannot be combined. Leave one out."
        raise fields.error("includeBounceRate", detail)
    if query.ordering is not None and query.ordering.column not in columns_of(query):
        name = fields.raw("orderBy")[0]
        raise fields.error("orderBy", f"The answer has no column {name} to order by.")


def columns_of(query: WebStatsTableQuery) -> tuple[Column, ...]:
    """Return the columns of the answer, after the value."""
    if query.goal is not None:
        return "visitors", "total_conversions", "unique_conversions", "conversion_rate"
    return ("visitors", "views", "bounce_rate") if query.bounce_rate else ("visitors", "views")


def _refuse_others(fields: Fields, kind: str) -> None:
    if fields.raw("aggregation_group_type_index") is not None:
        detail = "Web analytics counts persons. Leave it out."
        raise fields.error("aggregation_group_type_index", detail)
    fields.refuse_unread(kind, _PASSED_OVER)
