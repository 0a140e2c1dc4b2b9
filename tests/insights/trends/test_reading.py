"""Filters of trends that are read, and filters that are refused."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.trends.query import SERIES_MAX, parse_trends
from fanion.properties.condition_sql import OPERATORS
from fanion.properties.filters import ConditionGroup, Property

PAGEVIEWS = {"events": [{"id": "$pageview"}]}


UNREAD: dict[str, tuple[Any, ...]] = {
    "breakdown_path_cleaning": (True, "true"),
    "session": ("avg", 1),
}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "another insight": (
        {"insight": "FUNNELS"},
        "insight",
        '"FUNNELS" is not a valid choice. Allowed are: TRENDS, trends.',
    ),
    "an action without id": ({"actions": [{}]}, "actions__0__id",
                             "The id of an action must be a number above 0."),
    "an interval": (
        {"interval": "minutes"},
        "interval",
        '"minutes" is not a valid choice. Did you mean "minute"?',
    ),
    "events": ({"events": {}}, "events", "Must be a list."),
    "an event": ({"events": ["a"]}, "events__0", "Must be a JSON object."),
    "an id": ({"events": [{"id": 1}]}, "events__0__id", "The id of an event must be a string."),
    "an action by name": ({"events": [{"id": "Paid", "type": "actions"}]}, "events__0__id",
                          "The id of an action must be a number above 0."),
    "a type": ({"events": [{"id": "1", "type": "data_warehouse"}]}, "events__0__type",
               'The type of a series must be "events", "actions" or "groups".'),
    "too many actions": (
        {"events": [{}] * SERIES_MAX, "actions": [{"id": 1}]},
        "events",
        f"Ensure that there are at most {SERIES_MAX} events and actions.",
    ),
    "SQL without a text": ({"events": [{}, {"math": "hogql"}]}, "events__1__math_hogql",
                           "This field is required."),
    "SQL of another math": (
        {"events": [{"math": "dau", "math_hogql": "count()"}]},
        "events__0__math_hogql",
        "math_hogql is only for the math hogql. Leave it out.",
    ),
    "math": ({"events": [{"math": "medan"}]}, "events__0__math",
             '"medan" is not a valid choice. Did you mean "median"?'),
    "a sum of nothing": ({"events": [{"math": "sum"}]}, "events__0__math_property",
                         "This field is required."),
    "a sum of whose property": (
        {"events": [{"math": "sum", "math_property": "a", "math_property_type": "group"}]},
        "events__0__math_property_type",
        '"group" is not a valid choice. Allowed are: event_properties, person_properties.',
    ),
    "unnamed groups": ({"events": [{"math": "unique_group"}]},
                       "events__0__math_group_type_index", "This field is required."),
    "a sixth type of groups": (
        {"events": [{"math": "unique_group", "math_group_type_index": 5}]},
        "events__0__math_group_type_index",
        "Ensure this value is between 0 and 4.",
    ),
    "a multiplier": ({"events": [{"math_multiplier": 2}]}, "events__0__math_multiplier",
                     "math_multiplier is only for the math of a property. Leave it out."),
    "a multiplier of nothing": (
        {"events": [{"math": "sum", "math_property": "a", "math_multiplier": "0"}]},
        "events__0__math_multiplier",
        "Ensure this value is not 0.",
    ),
    "a multiplier in words": (
        {"events": [{"math": "sum", "math_property": "a", "math_multiplier": "two"}]},
        "events__0__math_multiplier",
        "A valid number is required.",
    ),
    "an endless multiplier": (
        {"events": [{"math": "sum", "math_property": "a", "math_multiplier": float("inf")}]},
        "events__0__math_multiplier",
        "Ensure this value is between -1000000000000 and 1000000000000.",
    ),
    "sums of persons' own property": (
        {"events": [{"math": "avg_sum_per_actor", "math_property": "a",
                     "math_property_type": "person_properties"}]},
        "events__0__math_property",
        "Sums per person are of a property of events.",
    ),
    "sums per person of nothing": ({"events": [{"math": "avg_sum_per_actor"}]},
                                   "events__0__math_property", "This field is required."),
    "too many": (
        {"events": [{}] * (SERIES_MAX + 1)},
        "events",
        f"Ensure this list has at most {SERIES_MAX} elements.",
    ),
    "a breakdown": ({"breakdown": 5}, "breakdown", "breakdown must name one property."),
    "many breakdowns": ({"breakdown": ["a"] * 4}, "breakdown",
                        "Ensure this list has at most 3 elements."),
    "a fourth breakdown": ({"breakdowns": [{"property": "a"}] * 4}, "breakdowns",
                           "Ensure this list has at most 3 elements."),
    "a breakdown by nothing": ({"breakdowns": [{"type": "event"}]}, "breakdowns__0__property",
                               "Name one property."),
    "its type": (
        {"breakdown": "a", "breakdown_type": "event_metadata"},
        "breakdown_type",
        "Breakdowns of type event_metadata are not supported.",
    ),
    "the type of one": (
        {"breakdowns": [{"property": "a", "type": "event_metadata"}]},
        "breakdowns__0__type",
        "Breakdowns of type event_metadata are not supported.",
    ),
    "a cohort by name": ({"breakdown": "friends", "breakdown_type": "cohort"}, "breakdown",
                         'A breakdown by cohort needs ids, or "all".'),
    "no values": ({"breakdown": "a", "breakdown_limit": 0}, "breakdown_limit",
                  "Ensure this value is between 1 and 500."),
    "many bins": ({"breakdown": "a", "breakdown_histogram_bin_count": 101},
                  "breakdown_histogram_bin_count", "Ensure this value is between 1 and 100."),
    "a display": (
        {"display": "BoxPlot"},
        "display",
        "Trends with display BoxPlot are not supported.",
    ),
    **{
        f"a heat map with {name}": (
            {"display": "CalendarHeatmap", "events": [{}], name: value},
            name,
            "Trends with display CalendarHeatmap have no such option. Leave it out.",
        )
        for name, value in {
            "formulas": ["A"], "breakdown": "plan", "compare": True, "smoothing_intervals": 2
        }.items()
    },
    "a heat map of two": ({"display": "CalendarHeatmap", "events": [{}, {}]}, "events",
                          "Trends with display CalendarHeatmap have one series."),
    "a heat map of weeks": (
        {"display": "CalendarHeatmap", "events": [{"math": "weekly_active"}]},
        "events__0__math",
        "Trends with display CalendarHeatmap have no math weekly_active. Use dau.",
    ),
    "a formula without series": ({"formula": "A"}, "formula", 'There is no series "A".'),
    "the second formula": ({"events": [{}], "formulas": ["A", "B"]}, "formulas__1",
                           'There is no series "B".'),
    "a formula with a name": ({"formulaNodes": [{"formula": "A"}]}, "formulaNodes__0__formula",
                              'There is no series "A".'),
    "smoothing": ({"smoothing_intervals": "x"}, "smoothing_intervals",
                  "A valid integer is required."),
    "a comparison with a day": ({"compare_to": "2024-01-01"}, "compare_to",
                                "Must be a distance such as -1w."),
    "a comparison with a start": ({"compare_to": "-1wStart"}, "compare_to",
                                  "Must be a distance such as -1w."),
    "stickiness": ({"shown_as": "Stickiness"}, "shown_as",
                   '"Stickiness" is not a valid choice. Allowed are: Volume.'),
    "a group type": ({"aggregation_group_type_index": 5}, "aggregation_group_type_index",
                     "Ensure this value is between 0 and 4."),
    **{
        f"{name} {value!r}": (
            {name: value}, name, f"Trends with {name} are not supported. Leave it out."
        )
        for name, values in UNREAD.items()
        for value in values
    },
    "compare": ({"compare": "yes"}, "compare", "Must be a valid boolean."),
    "an explicit date": ({"explicit_date": []}, "explicit_date", "Must be a valid boolean."),
    "an unknown operator": (
        {"properties": [{"key": "a", "value": 1, "operator": "less"}]},
        "properties",
        f'"less" is not a known operator. Use one of: {", ".join(sorted(OPERATORS))}.',
    ),
    "an unknown operator of a cohort": (
        {"properties": {"type": "OR", "values": [
            {"key": "id", "value": 1, "type": "cohort", "operator": "is_not"}]}},
        "properties",
        '"is_not" is not a known operator. Use one of: exact, in, not_in.',
    ),
    "an unknown operator of an event": (
        {"events": [{"properties": [{"key": "a", "type": "person", "operator": ""}]}]},
        "events__0__properties",
        f'"" is not a known operator. Use one of: {", ".join(sorted(OPERATORS))}.',
    ),
    "a filter": (
        {"properties": [3]},
        "properties",
        "The filters cannot be read: a property must be an object.",
    ),
    "a group's filter without its type": (
        {"properties": [{"key": "a", "type": "group"}]},
        "properties",
        "A filter of type group needs a group_type_index.",
    ),
    "a filter on a group of a type that cannot be": (
        {"properties": [{"key": "a", "type": "group", "group_type_index": 5}]},
        "properties",
        '"5" is not the index of a group type. It must be 0 to 4.',
    ),
    "a filter on behaviour": (
        {"properties": [{"key": "a", "type": "behavioral"}]},
        "properties",
        "Filters can only be on events, persons, groups, sessions and cohorts.",
    ),
    "too many filters": (
        {"properties": [{"key": "a"}] * 201}, "properties", "There are more than 200 filters."
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_trends_are_refused(name: str) -> None:
    filters, attr, detail = REFUSED[name]

    with pytest.raises(Invalid) as refused:
        parse_trends(filters)

    assert (refused.value.attr, refused.value.detail) == (attr, detail)


def test_options_with_off_values_are_accepted() -> None:
    off = {
        "smoothing_intervals": 1,
        "breakdown_limit": "25",
        "session": None,
        "breakdown_hide_other_aggregation": False,
        "breakdown_histogram_bin_count": None,
        "breakdown_normalize_url": "false",
        "breakdowns": [],
        "formulas": None,
        "aggregation_group_type_index": None,
        "shown_as": "Volume",
        "compare": "",
        "explicit_date": 0,
    }

    assert parse_trends({**PAGEVIEWS, **off}).compare is False


@pytest.mark.parametrize("operator", sorted(OPERATORS))
def test_every_operator_of_the_engine_is_accepted(operator: str) -> None:
    leaf = {"key": "a", "value": "1", "operator": operator}

    assert parse_trends({"properties": [leaf]}).scope.properties is not None


@pytest.mark.parametrize(
    "properties",
    [
        None,
        [],
        {},
        {"type": "AND", "values": []},
        {"type": "AND", "values": [{"type": "OR", "values": []}]},
    ],
)
def test_empty_filters_match_every_event(properties: Any) -> None:
    assert parse_trends({**PAGEVIEWS, "properties": properties}).scope.properties is None


def test_an_empty_group_next_to_another_is_ignored() -> None:
    leaf = {"key": "$feature_flag", "type": "event", "value": "beta"}
    raw = {
        "type": "AND",
        "values": [{"type": "AND", "values": []}, {"type": "AND", "values": [leaf]}],
    }

    query = parse_trends({"properties": raw})

    assert query.scope.properties == ConditionGroup(
        "AND", (ConditionGroup("AND", (Property("$feature_flag", "beta", type="event"),)),)
    )


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("p50", "Percentiles are: median, p25, p75, p90, p95, p99."),
        ("p100", "Percentiles are: median, p25, p75, p90, p95, p99."),
        ("mean", 'Did you mean "avg"?'),
        ("unique_users", 'Did you mean "dau"?'),
        ("totl", 'Did you mean "total"?'),
    ],
)
def test_an_unknown_math_is_refused_with_what_may_be_meant(word: str, advice: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_trends({"events": [{"id": "a", "math": word, "math_property": "n"}]})

    detail = f'"{word}" is not a valid choice. {advice}'
    assert (caught.value.attr, caught.value.detail) == ("events__0__math", detail)
