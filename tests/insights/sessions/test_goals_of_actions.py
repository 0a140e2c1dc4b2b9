"""Actions as conversion goals of web analytics, by worked examples."""

from typing import Any

import pytest

from fanion.errors import Invalid
from fanion.insights.kinds.service import Calculator, read_sent_query
from fanion.projects.model import Project
from tests.insights.sessions.test_examples import PAGES, WEEK
from tests.support.defined_actions import define
from tests.support.histories import NOW, Analyst, History, history_event

PRO = {"key": "plan", "type": "event", "value": ["pro"], "operator": "exact"}


def paid(who: int, at: str, plan: str, path: str) -> Any:
    own: dict[str, Any] = {"$session_id": f"s{who}", "$pathname": path, "plan": plan}
    return history_event("paid", who, f"2023-12-12 {at}", **own)


HISTORY = History(
    happened=[
        *PAGES,
        paid(1, "10:00:06", "pro", "/docs/1"),
        paid(1, "10:00:07", "pro", "/docs/1"),
        paid(1, "10:00:08", "free", "/"),
        paid(2, "11:00:01", "free", "/"),
    ]
)


async def asked(analyst: Analyst, project: Project, kind: str, **options: Any) -> Any:
    query = read_sent_query({"kind": kind, "dateRange": WEEK, **options}, "")
    answer = await Calculator(analyst.analysis).result(project, query, NOW)
    return answer["results"]


async def test_only_events_that_match_the_action_convert(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)
    action = await define(analyst, project, {"event": "paid", "properties": [PRO]})
    goal = {"actionId": action["id"]}

    overview = await asked(analyst, project, "WebOverviewQuery", conversionGoal=goal)
    table = await asked(
        analyst, project, "WebStatsTableQuery", breakdownBy="Page", conversionGoal=goal
    )
    of_sessions = await asked(
        analyst, project, "WebStatsTableQuery", breakdownBy="InitialPage", conversionGoal=goal
    )

    assert {item["key"]: item["value"] for item in overview} == {
        "visitors": 3,
        "total conversions": 2,
        "unique conversions": 1,
        "conversion rate": pytest.approx(100 / 3),
    }
    assert table == [
        ["/docs/1", [1, None], [2, None], [1, None], [1.0, None]],
        ["/", [2, None], [0, None], [0, None], [0.0, None]],
        ["/docs/2", [1, None], [0, None], [0, None], [0.0, None]],
    ]
    assert [(row[0], row[2][0]) for row in of_sessions] == [("/", 2), ("/docs/2", 0)]


async def test_a_table_has_events_and_actions_that_one_event_may_match(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)
    action = await define(analyst, project, {"event": "paid", "properties": [PRO]})
    views = await define(analyst, project, {"event": "$pageview"})
    goals = [
        {"customEventName": "paid"},
        {"actionId": action["id"]},
        {"actionId": views["id"]},
        {"customEventName": "signed up"},
    ]

    rows = await asked(analyst, project, "WebGoalsQuery", goals=goals)

    assert [row[1:] for row in rows] == [
        [[2, None], [4, None], [pytest.approx(2 / 3), None]],
        [[1, None], [2, None], [pytest.approx(1 / 3), None]],
        [[3, None], [4, None], [1, None]],
        [[0, None], [0, None], [0, None]],
    ]
    assert (rows[0][0], rows[3][0]) == ("paid", "signed up")


async def test_an_action_that_does_not_exist_is_refused_with_its_place(analyst: Analyst) -> None:
    project = await analyst.store(HISTORY)

    with pytest.raises(Invalid) as refused:
        await asked(analyst, project, "WebOverviewQuery", conversionGoal={"actionId": 999_999})

    assert refused.value.attr == "conversionGoal__actionId"
