"""The JSON Schema of an insight's filters agrees with their validation."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.kinds.json_schema import EXAMPLES
from fanion.insights.kinds.validation import check_insight_filters
from fanion.properties.operators import MEMBERSHIP, QUERY_COMPARISONS
from tests.flags.test_json_schema import (
    ABSENT,
    ACCEPTED_TRENDS,
    QUESTION,
    REFUSED_TRENDS,
    VALUES,
    Json,
    trend,
)

OPERATORS = sorted({*QUERY_COMPARISONS, *MEMBERSHIP})
# No cohort has these ids; they are refused where the cohorts are known, not by the schema.
NO_IDS = (0, -1)


def refusal(filters: Json) -> str | None:
    try:
        check_insight_filters(filters)
    except Invalid as problem:
        return problem.detail
    return None


@pytest.mark.parametrize("name", ACCEPTED_TRENDS)
def test_filters_that_fit_the_schema_are_accepted(name: str) -> None:
    assert refusal(ACCEPTED_TRENDS[name]) is None


@pytest.mark.parametrize("filters", EXAMPLES["TrendsFilters"])
def test_an_example_is_accepted(filters: Json) -> None:
    assert refusal(filters) is None


@pytest.mark.parametrize("name", REFUSED_TRENDS)
def test_invalid_filters_are_refused(name: str) -> None:
    assert refusal(REFUSED_TRENDS[name]) is not None


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
