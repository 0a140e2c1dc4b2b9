"""The JSON Schema of an insight's filters agrees with their validation."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.kinds.json_schema import EXAMPLES
from fanion.insights.kinds.service import KINDS_BY_INSIGHT
from fanion.insights.kinds.validation import check_insight_filters
from fanion.properties.operators import MEMBERSHIP, QUERY_COMPARISONS
from fanion.rest.options import schemas_of
from tests.flags.test_json_schema import ABSENT, DID, PAYS, VALUES, Json, validator

OPERATORS = sorted({*QUERY_COMPARISONS, *MEMBERSHIP})
# No cohort has these ids; they are refused where the cohorts are known, not by the schema.
NO_IDS = (0, -1)
QUESTION = validator("InsightFilters")
TREND: Json = {"insight": "TRENDS", "events": [{"id": "paid"}]}


def trend(**changes: Any) -> Json:
    return {**TREND, **changes}


ACCEPTED_TRENDS: dict[str, Json] = {
    "nothing": {},
    "a list": trend(properties=[{"key": "plan", "value": "pro"}]),
    "a tree": trend(properties={"type": "OR", "values": [{"type": "AND", "values": [PAYS]}]}),
    "an empty tree": trend(properties={}),
    "a cohort": trend(properties=[{"type": "cohort", "key": "id", "value": 7}]),
    "what charts are drawn by": trend(show_legend=True, display="ActionsPie"),
    "what asks for nothing": trend(smoothing_intervals=1, shown_as="Volume", formula=None),
    "a breakdown": trend(breakdown="$browser", breakdown_type="person"),
    "a breakdown by cohort": trend(breakdown=[7, "all"], breakdown_type="cohort"),
    "several breakdowns": trend(
        breakdowns=[{"property": "a", "type": "event"}, {"property": "b", "type": "person"}]
    ),
    "a histogram": trend(breakdown="n", breakdown_histogram_bin_count=4, breakdown_limit=5),
    "a formula": trend(formula="A * 2"),
    "formulas with names": trend(formulaNodes=[{"formula": "A", "custom_name": "Paid"}]),
    "a sum": trend(events=[{"id": "paid", "math": "sum", "math_property": "total"}]),
    "SQL": trend(events=[{"id": "paid", "math": "hogql", "math_hogql": "count()"}]),
    "a breakdown by SQL": trend(breakdown="1 + 1", breakdown_type="hogql"),
    "a condition in SQL": trend(properties=[{"type": "hogql", "key": "1 = 1", "value": None}]),
    "groups": trend(events=[{"id": "paid", "math": "unique_group", "math_group_type_index": 0}]),
    "the running sum": trend(display="ActionsLineGraphCumulative"),
    "smoothing": trend(smoothing_intervals=7, compare_to="-1w", interval="minute"),
    "an action": trend(events=[{"id": "5", "type": "actions"}]),
    "actions": trend(actions=[{"id": 5}]),
    "any event": {"events": [{"id": None, "name": "All", "type": "events", "order": 0}]},
}
REFUSED_TRENDS: dict[str, Json] = {
    "a range of mistyped name": trend(date_form="-7d"),
    "series": {"insight": "TRENDS", "series": []},
    "an unknown math": trend(events=[{"id": "paid", "math": "mean", "math_property": "total"}]),
    "a currency": trend(
        events=[{"id": "paid", "math_property_revenue_currency": {"static": "EUR"}}]
    ),
    "an event by event": trend(events=[{"id": "paid", "evnt": 1}]),
    "an action of mistyped name": trend(actions=[{"id": 5, "evnt": 1}]),
    "a long formula": trend(formula="A + " * 200 + "A"),
    "a box plot": trend(display="BoxPlot"),
    "less than none": trend(smoothing_intervals=-1),
    "four breakdowns": trend(breakdowns=[{"property": "a"}] * 4),
    "a breakdown by nothing": trend(breakdowns=[{"type": "event"}]),
    "cleaned paths": trend(breakdown="$pathname", breakdown_path_cleaning=True),
    "decades": trend(interval="decade"),
    "less": trend(properties=[{"key": "plan", "operator": "less", "value": 5}]),
    "op": trend(properties=[{"key": "plan", "op": "gt", "value": 5}]),
    "a cohort by is_not": trend(properties=[{"type": "cohort", "value": 7, "operator": "is_not"}]),
    "what was done": trend(properties=[DID]),
    "many events": trend(events=[{"id": "paid"}] * 27),
    "a comparison in SQL": trend(properties=[{"type": "hogql", "key": "1", "operator": "gt"}]),
    "a comparison of a word": trend(compare="maybe"),
    "test accounts of a word": trend(filter_test_accounts="maybe"),
}
# The greatest number of each option that has one, by kind.
LIMITS = [
    (insight, name, schema["maximum"])
    for insight in sorted(KINDS_BY_INSIGHT.keys() - {"FUNNELS_CORRELATION"})
    for name, schema in schemas_of(KINDS_BY_INSIGHT[insight].query).items()
    if "maximum" in schema
]


def refusal(filters: Json) -> str | None:
    try:
        check_insight_filters(filters)
    except Invalid as problem:
        return problem.detail
    return None


@pytest.mark.parametrize("name", ACCEPTED_TRENDS)
def test_filters_that_fit_the_schema_are_accepted(name: str) -> None:
    QUESTION.validate(ACCEPTED_TRENDS[name])
    assert refusal(ACCEPTED_TRENDS[name]) is None


@pytest.mark.parametrize("filters", EXAMPLES["TrendsFilters"])
def test_an_example_is_accepted(filters: Json) -> None:
    assert refusal(filters) is None


@pytest.mark.parametrize("name", REFUSED_TRENDS)
def test_invalid_filters_are_refused_by_the_schema_too(name: str) -> None:
    assert not QUESTION.is_valid(REFUSED_TRENDS[name])
    assert refusal(REFUSED_TRENDS[name]) is not None


@pytest.mark.parametrize(("insight", "name", "most"), LIMITS)
def test_every_limit_of_every_kind_is_published(insight: str, name: str, most: int) -> None:
    filters: Json = {"insight": insight, "events": [{"id": "a"}], name: most + 1}

    assert not QUESTION.is_valid(filters)
    assert refusal(filters) is not None


def test_kinds_that_are_not_known_are_refused_and_so_are_names() -> None:
    assert not QUESTION.is_valid({"insight": "FUNNEL", "events": []})
    assert not QUESTION.is_valid({"insight": "FUNNELS", "evnts": []})


# The last value has more members than the schema allows; filters have no such limit.
@pytest.mark.parametrize("value", VALUES[:-1], ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("kind", ["event", "person", "cohort", None, ABSENT])
def test_schema_and_validation_agree_on_every_operator_and_value(kind: Any, value: Any) -> None:
    if kind == "cohort" and value in NO_IDS:
        return
    for operator in (*OPERATORS, "less", "", None, ABSENT):
        leaf = {"type": kind, "key": "id", "operator": operator, "value": value}
        filters = trend(properties=[{k: v for k, v in leaf.items() if v is not ABSENT}])
        detail = refusal(filters)
        if detail is None:
            QUESTION.validate(filters)
        elif "for operator" not in detail:
            assert not QUESTION.is_valid(filters), detail


@pytest.mark.parametrize(
    "filters",
    [
        {"insight": "FUNNELS", "events": [{"id": "a"}], "funnel_order_type": "strict"},
        {"insight": "RETENTION", "period": "Week", "target_entity": {"id": "a"}},
        {"insight": "STICKINESS", "events": [{"id": "a"}], "computed_as": "cumulative"},
        {"insight": "LIFECYCLE", "events": [{"id": "a"}], "date_from": "-14d"},
        {"insight": "PATHS", "include_event_types": ["$pageview"], "step_limit": 4},
    ],
    ids=lambda filters: str(filters["insight"]),
)
def test_other_kinds_fit_the_schema_and_their_words_are_checked(filters: Json) -> None:
    assert refusal(filters) is None
    QUESTION.validate(filters)

    for name, wrong in (
        ("funnel_order_type", "zzz"),
        ("period", "Decade"),
        ("computed_as", "zzz"),
        ("step_limit", 0),
        ("date_from", 5),
    ):
        if name in filters:
            changed = {**filters, name: wrong}
            assert refusal(changed) is not None
            assert not QUESTION.is_valid(changed)
