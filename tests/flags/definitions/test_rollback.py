"""Rollback conditions: which flags are checked, and when a condition holds."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.flags.definitions.rollback_conditions import (
    CONDITIONS_MAX,
    is_watched,
    listed_conditions,
    read_condition,
)

Json = dict[str, Any]
METRIC = {"insight": "trends", "events": [{"order": 0, "id": "$pageview"}]}


def condition(**fields: Any) -> Json:
    return {
        "threshold": 5,
        "threshold_type": "insight",
        "operator": "lt",
        "threshold_metric": METRIC,
        **fields,
    }


@pytest.mark.parametrize(
    ("operator", "average", "holds"),
    [
        ("lt", 4.9, True),
        ("lt", 5.0, False),
        ("lt", 5.1, False),
        ("gt", 4.9, False),
        ("gt", 5.0, False),
        ("gt", 5.1, True),
        # Everything except `lt` counts as `gt`. Source: flags.md section 17.
        (None, 5.1, True),
        ("unknown", 4.9, False),
    ],
)
def test_a_condition_holds_beyond_its_threshold(
    operator: object, average: float, holds: bool
) -> None:
    read = read_condition(condition(operator=operator))

    assert read is not None
    assert read.holds(average) is holds
    assert read.metric.series[0].entity.event == "$pageview"


@pytest.mark.parametrize("kind", ["sentry", "unknown", None, 5, ["insight"]])
def test_other_kinds_never_hold(kind: object) -> None:
    assert read_condition(condition(threshold_type=kind)) is None


@pytest.mark.parametrize(
    "raw",
    [
        None,
        5,
        "insight",
        [condition()],
        condition(threshold=None),
        condition(threshold="5"),
        condition(threshold=True),
        condition(threshold=float("inf")),
        condition(threshold_metric=None),
        condition(threshold_metric=[METRIC]),
        condition(threshold_metric={"insight": "funnels"}),
        condition(threshold_metric={"events": "all"}),
        condition(threshold_metric={"events": [{"id": 5}]}),
    ],
)
def test_what_cannot_be_read_is_reported(raw: object) -> None:
    with pytest.raises((ValueError, Invalid)):
        read_condition(raw)


@pytest.mark.parametrize(
    ("stored", "listed"),
    [
        (None, 0),
        ([], 0),
        ({}, 0),
        ("text", 0),
        (5, 0),
        (True, 0),
        (condition(), 1),
        ([condition(), "odd"], 2),
        ([condition()] * 500, CONDITIONS_MAX),
    ],
)
def test_any_json_may_be_stored(stored: object, listed: int) -> None:
    assert len(listed_conditions(stored)) == listed


@pytest.mark.parametrize(
    ("active", "deleted", "conditions", "watched"),
    [
        (True, False, [condition()], True),
        (False, False, [condition()], False),
        (True, True, [condition()], False),
        (True, False, [], False),
        (True, False, None, False),
    ],
)
def test_only_flags_that_are_on_are_watched(
    active: bool, deleted: bool, conditions: object, watched: bool
) -> None:
    row = {"active": active, "deleted": deleted, "rollback_conditions": conditions}

    assert is_watched(row) is watched
