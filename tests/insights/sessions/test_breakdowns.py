"""Breakdowns by fields of the session of an event."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanion.errors import Invalid
from fanion.insights.kinds.service import read_query
from fanion.insights.parsing.fields import Fields
from fanion.insights.sql.compiler import NONE
from tests.insights.sessions.oracle import sessions
from tests.insights.sessions.test_conditions import HISTORY
from tests.insights.sessions.test_oracle import visits
from tests.support.examples import examples
from tests.support.histories import NOW, Analyst, History


async def shown(analyst: Analyst, history: History, event: str, **options: Any) -> Any:
    result = await analyst.answer(history, events=[{"id": event}], date_from="-10d", **options)
    return {entry["breakdown_value"]: entry["count"] for entry in result}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("$session_duration", {"41": 1, "5": 1, "0": 1, NONE: 1}),
        ("$entry_pathname", {"/": 1, "/docs": 1, NONE: 2}),
        ("$exit_pathname", {"/docs": 2, NONE: 2}),
        ("$is_bounce", {"true": 1, "false": 1, NONE: 2}),
        ("$channel_type", {"Unknown": 2, "Organic Search": 1, NONE: 1}),
        ("$pageview_count", {"2": 1, "1": 1, "0": 1, NONE: 1}),
    ],
)
async def test_events_by_their_session(
    analyst: Analyst, field: str, values: dict[str, int]
) -> None:
    result = await shown(analyst, HISTORY, "a", breakdown=field, breakdown_type="session")

    assert result == values


async def test_bins_of_durations(analyst: Analyst) -> None:
    result = await shown(
        analyst,
        HISTORY,
        "a",
        breakdown="$session_duration",
        breakdown_type="session",
        breakdown_histogram_bin_count=2,
    )

    assert result == {"[0,20.5]": 2, "[20.5,41.01]": 1, NONE: 1}


async def test_persons_by_session_and_plan(analyst: Analyst) -> None:
    both = [{"property": "$is_bounce", "type": "session"}, {"property": "plan", "type": "event"}]

    result = await analyst.answer(
        HISTORY, events=[{"id": "a", "math": "dau"}], breakdowns=both, date_from="-10d"
    )

    assert {tuple(entry["breakdown_value"]): entry["count"] for entry in result} == {
        ("false", "pro"): 1,
        ("true", "free"): 1,
        (NONE, "pro"): 2,
    }


@settings(max_examples=examples(10))
@given(visits(), st.sampled_from(("$entry_pathname", "$channel_type", "$session_duration")))
async def test_random_histories(analyst: Analyst, history: History, field: str) -> None:
    result = await shown(analyst, history, "$pageview", breakdown=field, breakdown_type="session")

    # The range holds all events, so that nothing is cut off at its ends.
    whole = sessions(history, (NOW - timedelta(days=9), NOW + timedelta(days=1)))
    values = {
        event.uuid: {
            "$entry_pathname": session.entry,
            "$channel_type": session.channel,
            "$session_duration": str(session.seconds),
        }[field]
        for session in whole
        for event in session.events
    }
    views = [event for event in history.once if event.event == "$pageview"]
    assert result == Counter(values.get(view.uuid) or NONE for view in views)


@pytest.mark.parametrize(
    ("options", "attr"),
    [
        ({"breakdown": "$entry_path", "breakdown_type": "session"}, "breakdown"),
        ({"breakdowns": [{"property": "plan", "type": "session"}]}, "breakdowns__0__property"),
    ],
)
def test_a_breakdown_names_a_field_that_sessions_have(options: dict[str, Any], attr: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_query(Fields({"events": [{"id": "a"}], **options}))

    assert refused.value.attr == attr
