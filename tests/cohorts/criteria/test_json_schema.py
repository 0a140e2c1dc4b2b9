"""The JSON Schema of criteria and what validation refuses agree, in both directions."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.cohorts.criteria.behaviour import BEHAVIOURS
from fanion.cohorts.criteria.validation import check_criteria
from fanion.errors import Invalid
from fanion.properties.operators import CRITERIA_OPERATORS
from tests.flags.test_json_schema import (
    ABSENT,
    ACCEPTED_CRITERIA,
    CRITERIA,
    PAYS,
    REFUSED_CRITERIA,
    VALUES,
    Json,
    criteria,
)
from tests.support.examples import examples

OPERATORS = sorted({name for names in CRITERIA_OPERATORS.values() for name in names})
# Rules that only the descriptions of the schema state.
IN_WORDS = re.compile(
    r"for operator (not_)?(between|regex)|for operator is_date|explicit_datetime cannot be read"
    r"|min_periods must not be|recent window must not be"
)
# Fields that some kinds of conditions do not read, and that must be empty there.
EMPTY_UNLESS_READ = ("operator_value", "event_filters", "explicit_datetime")
# Ids that no cohort has are refused where the cohorts are known.
VALUES_OF_ONE = [value for value in VALUES if value not in (0, -1)]


def refusal(filters: Json) -> str | None:
    try:
        check_criteria(filters)
    except Invalid as problem:
        return problem.detail
    return None


def as_published(leaf: Json) -> Json:
    """Return an accepted condition in the one spelling of an empty field that is published."""
    return {
        name: None if name in EMPTY_UNLESS_READ and value in ("", 0) else value
        for name, value in leaf.items()
    }


def require_agreement(leaf: Json) -> None:
    sent = {name: value for name, value in leaf.items() if value is not ABSENT}
    filters = criteria(sent)
    detail = refusal(filters)
    if detail is None:
        CRITERIA.validate(criteria(as_published(sent)))
    elif not IN_WORDS.search(detail):
        assert not CRITERIA.is_valid(filters), detail


@pytest.mark.parametrize("name", ACCEPTED_CRITERIA)
def test_criteria_that_fit_the_schema_are_accepted(name: str) -> None:
    assert refusal(ACCEPTED_CRITERIA[name]) is None


@pytest.mark.parametrize("name", REFUSED_CRITERIA)
def test_mistakes_in_criteria_are_refused(name: str) -> None:
    assert refusal(REFUSED_CRITERIA[name]) is not None


@pytest.mark.parametrize("value", VALUES_OF_ONE, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("kind", ["person", "cohort"])
def test_schema_and_validation_agree_on_every_operator_and_value(kind: str, value: Any) -> None:
    for operator in (*OPERATORS, "less", "", None, ABSENT):
        require_agreement({"type": kind, "key": "id", "operator": operator, "value": value})


counts = st.sampled_from([1, 2, "3", 0, -1, 0.5, "x", None, ABSENT, True])
units = st.sampled_from(["day", "week", "day", "fortnight", None, ABSENT])
filtered = {"type": "event", "key": "total", "operator": "exact", "value": 1}
behaviours = st.fixed_dictionaries(
    {
        "type": st.just("behavioral"),
        "key": st.sampled_from(["paid", "paid", "", 5, "7", ABSENT]),
        "event_type": st.sampled_from(["events", "events", "actions", ABSENT]),
        "value": st.sampled_from([*sorted(BEHAVIOURS), "did"]),
        "time_value": counts,
        "time_interval": units,
        "explicit_datetime": st.sampled_from([ABSENT, ABSENT, "-7d", "", None, "never"]),
        "operator": st.sampled_from([ABSENT, ABSENT, "gte", "least", None]),
        "operator_value": st.sampled_from([ABSENT, ABSENT, 2, 0, "2"]),
        "event_filters": st.sampled_from([ABSENT, ABSENT, [], None, [filtered], [PAYS]]),
        "seq_event": st.sampled_from([ABSENT, "left", 7]),
        "seq_event_type": st.sampled_from([ABSENT, "events", "actions"]),
        "seq_time_value": counts,
        "seq_time_interval": units,
        "min_periods": counts,
        "total_periods": counts,
        "negation": st.sampled_from([ABSENT, ABSENT, True, "yes"]),
        "tiem": st.sampled_from([ABSENT] * 6 + [1]),
    }
)


@settings(max_examples=examples(500))
@given(behaviours)
def test_schema_and_validation_agree_on_behavioral_conditions(leaf: Json) -> None:
    require_agreement(leaf)
