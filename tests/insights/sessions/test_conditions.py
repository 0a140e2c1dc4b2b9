"""Conditions on the session of an event, in any question."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.parsing.conditions import parse_filter
from tests.insights.sessions.conftest import Ask
from tests.support.histories import Analyst, History, history_event


def at(who: int, second: int, session: str, event: str = "a", **more: Any) -> Any:
    return history_event(
        event, who, f"2024-04-02 10:00:{second:02}", **{"$session_id": session, **more}
    )


# Three sessions (a long one, one with one page view, one without a page), and an event of none.
HISTORY = History(
    happened=[
        at(1, 0, "s1", "$pageview", **{"$current_url": "https://x.io/", "utm_source": "news"}),
        at(1, 40, "s1", "$pageview", **{"$current_url": "https://x.io/docs"}),
        at(1, 41, "s1", plan="pro"),
        at(2, 0, "s2", "$pageview", **{"$current_url": "https://x.io/docs?a=1"}),
        at(2, 5, "s2", plan="free"),
        at(3, 0, "s3", plan="pro", **{"$referring_domain": "www.google.com"}),
        at(4, 0, "", plan="pro"),
    ]
)


def session(key: str, value: Any = None, operator: str = "exact") -> dict[str, Any]:
    return {"type": "session", "key": key, "value": value, "operator": operator}


@pytest.mark.parametrize(
    ("condition", "counted"),
    [
        (session("$session_duration", 10, "gt"), 1),
        (session("$session_duration", 5), 1),
        (session("$session_duration", 41, "lt"), 2),
        (session("$entry_pathname", "/"), 1),
        (session("$entry_pathname", ["/", "/docs"]), 2),
        (session("$exit_pathname", "/docs"), 2),
        (session("$end_pathname", "/docs"), 2),
        (session("$entry_current_url", "?a=", "icontains"), 1),
        (session("$entry_hostname", "x.io"), 2),
        (session("$entry_pathname", "/", "is_not"), 2),
        (session("$entry_pathname", operator="is_set"), 2),
        (session("$entry_pathname", operator="is_not_set"), 1),
        (session("$entry_utm_source", "^n", "regex"), 1),
        (session("$pageview_count", 2, "gte"), 1),
        (session("$pageview_count", 0), 1),
        (session("$is_bounce", True), 1),
        (session("$is_bounce", ["false"]), 1),
        (session("$is_bounce", operator="is_not_set"), 1),
        (session("$channel_type", "Organic Search"), 1),
        (session("$start_timestamp", "2024-04-02", "is_date_exact"), 3),
        (session("$start_timestamp", "-1d", "is_date_before"), 3),
        (session("$end_timestamp", "2024-04-02 10:00:10", "is_date_after"), 1),
    ],
)
async def test_events_whose_session_fulfils_a_condition(
    analyst: Analyst, condition: dict[str, Any], counted: int
) -> None:
    [entry] = await analyst.answer(
        HISTORY, events=[{"id": "a"}], properties=[condition], date_from="2024-04-01"
    )

    assert entry["count"] == counted


async def test_conditions_on_sessions_beside_others(analyst: Analyst) -> None:
    plan = {"key": "plan", "value": "pro"}
    either = {
        "type": "OR",
        "values": [session("$is_bounce", True), {"type": "AND", "values": [
            plan, session("$pageview_count", 0), session("$session_duration", 0)
        ]}],
    }  # fmt: skip

    [entry] = await analyst.answer(
        HISTORY, events=[{"id": "a"}], properties=either, date_from="2024-04-01"
    )

    assert entry["count"] == 2


async def test_conditions_on_sessions_of_one_series(analyst: Analyst) -> None:
    long = {"id": "a", "properties": [session("$session_duration", 10, "gt")]}

    result = await analyst.answer(HISTORY, events=[{"id": "a"}, long], date_from="2024-04-01")

    assert [entry["count"] for entry in result] == [4, 1]


async def test_a_session_is_whole_beyond_the_range(analyst: Analyst) -> None:
    own: dict[str, Any] = {"$session_id": "s"}
    night = History(
        happened=[
            history_event("$pageview", 1, "2024-04-01 23:59", **own),
            history_event("a", 1, "2024-04-02 00:01", **own),
        ]
    )

    [entry] = await analyst.answer(
        night,
        events=[{"id": "a"}],
        properties=[session("$session_duration", 120)],
        date_from="2024-04-02",
    )

    assert entry["count"] == 1


async def test_web_analytics_of_some_sessions(web: Ask) -> None:
    answer = await web(
        HISTORY,
        "WebOverviewQuery",
        dateRange={"date_from": "2024-04-01"},
        properties=[session("$entry_pathname", "/docs")],
    )

    assert [item["value"] for item in answer["results"]] == [1, 1, 1, 5.0, 100.0]


def test_a_condition_names_a_field_that_sessions_have() -> None:
    with pytest.raises(Invalid) as refused:
        parse_filter([session("$entry_path", "/")], "properties")

    assert refused.value.attr == "properties"
    assert "$entry_pathname" in refused.value.detail
