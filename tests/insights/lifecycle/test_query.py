"""Parsing of questions of life cycles."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.lifecycle.query import LifecycleQuery, read_lifecycle
from fanion.insights.parsing.fields import Fields

A = {"id": "a", "type": "events", "math": "total"}


def read(**filters: Any) -> LifecycleQuery:
    return read_lifecycle(Fields({"insight": "LIFECYCLE", "events": [A], **filters}))


def test_all_options_are_read() -> None:
    query = read(interval="month", toggledLifecycles=["new"], aggregation_group_type_index=1)

    assert (query.entity.event, query.interval) == ("a", "month")
    assert query.scope.group_type_index == 1


def test_a_trend_that_is_shown_as_a_life_cycle_is_one() -> None:
    fields = Fields({"insight": "TRENDS", "shown_as": "Lifecycle", "events": [A]})

    assert read_lifecycle(fields).entity == read().entity


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"events": []}, "events", "A life cycle needs exactly one event."),
    ({"events": [A, A]}, "events", "A life cycle needs exactly one event."),
    (
        {"events": [A | {"math": "sum"}]},
        "events__0__math",
        "Life cycles with math sum are not supported. Leave it out.",
    ),
    ({"compare": True}, "compare", "Life cycles with compare are not supported. Leave it out."),
    (
        {"breakdown": "plan"},
        "breakdown",
        "Life cycles with breakdown are not supported. Leave it out.",
    ),
    (
        {"events": [A], "actions": [{"id": 1}]},
        "events",
        "A life cycle needs exactly one event.",
    ),
]


@pytest.mark.parametrize(("filters", "attr", "detail"), REFUSED)
def test_what_cannot_be_calculated_is_refused_by_name(
    filters: dict[str, Any], attr: str, detail: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read(**filters)

    assert (caught.value.attr, caught.value.detail) == (attr, detail)
