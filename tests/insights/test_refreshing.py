"""Results that are not fresh are shown with their time, and calculated in the background.

Dashboards that are viewed are calculated on a schedule.

Source: insights.md, section 14.
"""

from typing import Any
from uuid import uuid4

import pytest

from tests.support.application import Home, Json

FILTERS: Json = {"insight": "TRENDS", "events": [{"id": "seen"}], "date_from": "-1d"}


async def seen(home: Home) -> None:
    await home.capture(
        {
            "event": "seen",
            "distinct_id": "ann",
            "uuid": str(uuid4()),
            "timestamp": "2024-03-01T10:00:00Z",
        }
    )


async def made(home: Home, **more: Any) -> Json:
    answer = await home.api.post("/insights/", json={"filters": FILTERS, **more})
    assert answer.status_code == 201, answer.text
    insight: Json = answer.json()
    return insight


def count(insight: Json) -> float:
    found: float = insight["result"][0]["count"]
    return found


async def test_an_old_result_is_shown_with_its_time_and_background_done(home: Home) -> None:
    path = f"/insights/{(await made(home))['id']}/"
    await home.get(path, refresh="true")
    await seen(home)
    home.site.clock.move(minutes=20)

    old = await home.get(path)
    await home.site.running.questions.insights.results.background_done()
    new = await home.get(path)

    assert (count(old), old["last_refresh"]) == (0, "2024-03-01T12:00:00Z")
    assert (count(new), new["last_refresh"], new["is_cached"]) == (1, "2024-03-01T12:20:00Z", True)


async def test_a_fresh_result_is_not_background_done(home: Home) -> None:
    path = f"/insights/{(await made(home))['id']}/"
    await home.get(path, refresh="true")
    await seen(home)

    await home.get(path)
    await home.site.running.questions.insights.results.background_done()

    assert count(await home.get(path)) == 0


async def test_a_query_may_be_answered_with_what_is_old(home: Home) -> None:
    query = {"kind": "TrendsQuery", "series": [{"event": "seen"}]}

    async def asked(refresh: str) -> str:
        answer = await home.api.post("/query/", json={"query": query, "refresh": refresh})
        last_refresh: str = answer.json()["last_refresh"]
        return last_refresh

    first = await asked("lazy_async")
    home.site.clock.move(minutes=20)
    old = await asked("lazy_async")
    await home.site.running.questions.insights.results.background_done()
    behind = await asked("lazy_async")
    home.site.clock.move(minutes=20)
    fresh = await asked("blocking")

    assert (first, old) == ("2024-03-01T12:00:00Z", "2024-03-01T12:00:00Z")
    assert (behind, fresh) == ("2024-03-01T12:20:00Z", "2024-03-01T12:40:00Z")


async def refreshed(home: Home) -> None:
    """Refresh dashboards until none is due; other tests have some too."""
    while await home.site.running.questions.refresher.work_once():
        pass


async def on_dashboard(home: Home) -> tuple[str, str]:
    """Return the addresses of a new dashboard and of its only insight."""
    board = (await home.api.post("/dashboards/", json={"name": "d"})).json()
    insight = await made(home, dashboards=[board["id"]])
    return f"/dashboards/{board['id']}/", f"/insights/{insight['id']}/"


@pytest.mark.every_engine
async def test_a_dashboard_that_is_looked_at_is_calculated_by_schedule(home: Home) -> None:
    board, insight = await on_dashboard(home)
    await home.get(board)

    await refreshed(home)
    early = await home.get(insight)
    home.site.clock.move(minutes=15)
    await refreshed(home)
    due = await home.get(insight)

    assert early["last_refresh"] is None
    assert (due["last_refresh"], due["is_cached"]) == ("2024-03-01T12:15:00Z", True)


async def test_a_dashboard_that_nobody_looks_at_is_left_alone(home: Home) -> None:
    board, insight = await on_dashboard(home)
    await home.get(board)
    home.site.clock.move(days=1)

    await refreshed(home)

    assert (await home.get(insight))["last_refresh"] is None


async def test_a_deleted_dashboard_is_not_calculated(home: Home) -> None:
    board, insight = await on_dashboard(home)
    await home.get(board)
    await home.api.patch(board, json={"deleted": True})
    home.site.clock.move(minutes=20)

    await refreshed(home)

    assert (await home.get(insight))["last_refresh"] is None
