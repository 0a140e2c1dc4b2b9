"""Retention of random histories, against a model in plain Python."""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.insights.retention.oracle import retention, starts, sums
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History, HistoryEvent, histories

A, B = {"id": "a", "type": "events"}, {"id": "b", "type": "events"}
ANY = {"id": None, "type": "events"}
PRO = {"id": "b", "type": "events", "properties": [{"key": "plan", "value": "pro"}]}


def is_a(event: HistoryEvent) -> bool:
    return event.event == "a"


def is_b(event: HistoryEvent) -> bool:
    return event.event == "b"


def is_any(event: HistoryEvent) -> bool:
    return True


def is_pro(event: HistoryEvent) -> bool:
    return is_b(event) and event.properties.get("plan") == "pro"


WIDTHS = {"Hour": 1, "Day": 24, "Week": 7 * 24, "Month": 30 * 24}

Test = Callable[[HistoryEvent], bool]
ENTITIES: list[tuple[dict[str, Any], Test, dict[str, Any], Test]] = [
    (A, is_a, A, is_a),
    (A, is_a, B, is_b),
    (ANY, is_any, B, is_b),
    (B, is_b, ANY, is_any),
    (PRO, is_pro, ANY, is_any),
    (A, is_a, PRO, is_pro),
]


def counts(rows: list[dict[str, Any]]) -> list[list[int]]:
    return [[value["count"] for value in row["values"]] for row in rows]


@settings(max_examples=examples(30))
@given(histories(), st.sampled_from(ENTITIES), st.data())
async def test_every_option_counts_as_the_model_does(
    analyst: Analyst,
    history: History,
    entities: tuple[dict[str, Any], Test, dict[str, Any], Test],
    data: st.DataObject,
) -> None:
    target, is_target, returning, is_returning = entities
    period = data.draw(st.sampled_from(("Day", "Week", "Month", "Hour")), "period")
    number = data.draw(st.sampled_from((1, 3, 8, 64)), "number")
    first_time = data.draw(st.booleans(), "first time")
    cumulative = data.draw(st.booleans(), "cumulative")
    occurrences = data.draw(st.sampled_from((1, 1, 2)), "occurrences")
    has_windows = data.draw(st.booleans(), "windows")
    sizes = data.draw(st.sampled_from(((), (1, 3), (2, 1, 5))), "brackets")

    rows = await analyst.answer(
        history,
        insight="RETENTION",
        period=period,
        total_intervals=number,
        target_entity=target,
        returning_entity=returning,
        retention_type="retention_first_time" if first_time else "retention_recurring",
        cumulative=cumulative,
        minimum_occurrences=occurrences,
        time_window_mode="24_hour_windows" if has_windows else "strict_calendar_dates",
        retention_custom_brackets=list(sizes),
    )

    bounds = starts(history.zone, period, number, NOW)
    expected = retention(
        history,
        bounds,
        is_target,
        is_returning,
        first_time=first_time,
        cumulative=cumulative,
        occurrences=occurrences,
        window=timedelta(hours=WIDTHS[period]) if has_windows else None,
        sizes=sizes,
    )
    assert counts(rows) == expected


@settings(max_examples=examples(20))
@given(histories(), st.sampled_from(ENTITIES), st.data())
async def test_values_are_what_the_model_adds_up(
    analyst: Analyst,
    history: History,
    entities: tuple[dict[str, Any], Test, dict[str, Any], Test],
    data: st.DataObject,
) -> None:
    target, is_target, returning, is_returning = entities
    period = data.draw(st.sampled_from(("Day", "Week", "Hour")), "period")
    first_time = data.draw(st.booleans(), "first time")
    has_windows = data.draw(st.booleans(), "windows")
    sizes = data.draw(st.sampled_from(((), (1, 3))), "brackets")
    by_plan: dict[str, Any] = {"breakdown": "plan", "breakdown_type": "person"}
    broken_down = data.draw(st.sampled_from(({}, by_plan)), "broken down")

    rows = await analyst.answer(
        history,
        insight="RETENTION",
        period=period,
        total_intervals=8,
        target_entity=target,
        returning_entity=returning,
        retention_type="retention_first_time" if first_time else "retention_recurring",
        time_window_mode="24_hour_windows" if has_windows else "strict_calendar_dates",
        retention_custom_brackets=list(sizes),
        aggregation_type="sum",
        aggregation_property="n",
        **broken_down,
    )

    def actor_with(value: str | None, event: HistoryEvent) -> Any:
        actor = history.actor(event)
        plan = text(history.persons.get(actor, {}).get("plan"))
        return actor if value in (None, plan) else None

    for start in range(0, len(rows), 8):
        value = rows[start].get("breakdown_value")
        expected = sums(
            history,
            starts(history.zone, period, 8, NOW),
            is_target,
            is_returning,
            first_time=first_time,
            window=timedelta(hours=WIDTHS[period]) if has_windows else None,
            sizes=sizes,
            who=partial(actor_with, value),
        )
        shown = [
            [one["aggregation_value"] for one in row["values"]] for row in rows[start : start + 8]
        ]
        assert shown == [pytest.approx(row) for row in expected]


@settings(max_examples=examples(15))
@given(histories())
async def test_groups_are_counted_in_place_of_persons(analyst: Analyst, history: History) -> None:
    rows = await analyst.answer(
        history,
        insight="RETENTION",
        target_entity=ANY,
        returning_entity=ANY,
        aggregation_group_type_index=0,
    )

    expected = retention(
        history,
        starts(history.zone, "Day", 11, NOW),
        is_any,
        is_any,
        who=lambda event: event.properties.get("$group_0") or None,
    )
    assert counts(rows) == expected


def text(value: Any) -> str:
    if value is None or value == "":
        return "$$_posthog_breakdown_null_$$"
    return {0: "0", True: "true"}.get(value) or str(value)


KINDS: dict[str, dict[str, Any]] = {
    "event": {"breakdown": "plan"},
    "person": {"breakdown": "plan", "breakdown_type": "person"},
    "both": {"breakdowns": [{"property": "plan"}, {"property": "plan", "type": "person"}]},
}


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(15))
@given(history=histories())
async def test_each_value_of_a_breakdown_has_rows_of_its_own(
    analyst: Analyst, kind: str, history: History
) -> None:
    rows = await analyst.answer(
        history,
        insight="RETENTION",
        target_entity=A,
        returning_entity=ANY,
        **KINDS[kind],
        breakdown_limit=2,
        total_intervals=5,
    )

    bounds = starts(history.zone, "Day", 5, NOW)

    def value(one: HistoryEvent) -> tuple[str, ...]:
        who = history.actor(one)
        held = history.persons.get(who, {}) if isinstance(who, UUID) else {}
        own, now = text(one.properties.get("plan")), text(held.get("plan"))
        return {"event": (own,), "person": (now,), "both": (own, now)}[kind]

    def of(values: set[tuple[str, ...]]) -> list[list[int]]:
        def who(one: HistoryEvent) -> Any:
            return history.actor(one) if value(one) in values else None

        return retention(history, bounds, is_a, is_any, who=who)

    every = {value(event) for event in history.once if is_a(event)}
    began = {one: sum(row[0] for row in of({one})) for one in every}
    largest = sorted((row for row in every if began[row]), key=lambda one: (-began[one], _key(one)))
    expected = [(row, of({row})) for row in largest[:2]]
    if largest[2:]:
        other = ("$$_posthog_breakdown_other_$$",) * len(largest[0])
        expected.append((other, of(set(largest[2:]))))
    result = [(rows[n]["breakdown_value"], counts(rows[n : n + 5])) for n in range(0, len(rows), 5)]
    shown = [(list(row) if kind == "both" else row[0], numbers) for row, numbers in expected]
    assert result == shown


def _key(value: tuple[str, ...]) -> str:
    """Return the text by which values of equal size are sorted: several are one JSON text."""
    return value[0] if len(value) == 1 else json.dumps(value, separators=(",", ":"))
