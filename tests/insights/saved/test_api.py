"""Insights and trends over HTTP."""

from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from fanion.db.schema.insights import insights
from tests.support.application import Json, Tenant, error

CALLS = {
    "insight": "TRENDS",
    "events": [{"id": "$feature_flag_called", "name": "$feature_flag_called", "type": "events"}],
    "date_from": "-2d",
    "breakdown": "$feature_flag_response",
    "breakdown_type": "event",
}


def called(answer: object, at: str, distinct_id: str = "ann") -> Json:
    return {
        "event": "$feature_flag_called",
        "distinct_id": distinct_id,
        "uuid": str(uuid4()),
        "timestamp": at,
        "properties": {"$feature_flag": "beta", "$feature_flag_response": answer},
    }


async def two_days(tenant: Tenant) -> None:
    await tenant.capture(
        called("control", "2024-02-29T10:00:00Z"),
        called("control", "2024-03-01T10:00:00Z"),
        called("control", "2024-03-01T11:00:00Z", "bob"),
        called(True, "2024-03-01T11:00:00Z", "bob"),
    )


async def trend(tenant: Tenant, filters: Json, status: int = 200) -> Any:
    answer = await tenant.api.post("/insights/trend/", json=filters)
    assert answer.status_code == status, answer.text
    return answer.json()


@pytest.mark.every_engine
async def test_a_trend_is_calculated_from_captured_events(tenant: Tenant) -> None:
    await two_days(tenant)

    reported = await trend(tenant, CALLS)

    first, second = reported.pop("result")
    assert reported.pop("seconds") >= 0
    assert reported.pop("rows_read") > 0
    assert reported == {
        "timezone": "UTC",
        "last_refresh": "2024-03-01T12:00:00Z",
        "is_cached": False,
        "next": None,
        "hasMore": False,
        "breakdown_values": [{"shown": 2, "total": 2}],
    }
    assert (first["label"], first["data"], first["count"]) == ("control", [0.0, 1.0, 2.0], 3.0)
    assert (second["label"], second["data"]) == ("true", [0.0, 0.0, 1.0])
    assert first["days"] == ["2024-02-28", "2024-02-29", "2024-03-01"]


async def test_a_query_string_and_a_body_give_the_same_trend(tenant: Tenant) -> None:
    await two_days(tenant)
    query = {"date_from": "-2d", "events": '[{"id": "$feature_flag_called", "math": "dau"}]'}

    reported = await tenant.get("/insights/trend/", **query, properties="[]")

    assert reported["result"][0]["data"] == [0.0, 1.0, 2.0]


async def test_a_result_is_cached_until_it_is_old(tenant: Tenant) -> None:
    first = await trend(tenant, CALLS)
    await two_days(tenant)

    again = await trend(tenant, CALLS)
    anew = await trend(tenant, {**CALLS, "refresh": True})
    tenant.server.clock.move(minutes=16)
    later = await trend(tenant, CALLS)

    # Names are looked up for each answer: the events were only received later.
    unknown = {
        "unknown_event": ["$feature_flag_called"],
        "unknown_property": ["$feature_flag_response"],
    }
    assert {**again, **unknown} == {**first, "is_cached": True}
    assert [len(answer["result"]) for answer in (first, again, anew, later)] == [0, 0, 2, 2]
    assert [answer["is_cached"] for answer in (anew, later)] == [False, False]
    assert later["last_refresh"] == "2024-03-01T12:16:00Z"


async def test_a_cached_result_expires_at_the_start_of_a_day(tenant: Tenant) -> None:
    tenant.server.clock.move(hours=11, minutes=59)
    await trend(tenant, CALLS)

    tenant.server.clock.move(minutes=2)
    reported = await trend(tenant, CALLS)

    assert reported["is_cached"] is False


async def test_a_day_begins_in_the_projects_zone(tenant: Tenant) -> None:
    answer = await tenant.api.patch("/", json={"timezone": "Pacific/Auckland"})
    assert answer.status_code == 200, answer.text
    await tenant.capture(called("a", "2024-02-29T10:59:00Z"), called("a", "2024-02-29T11:01:00Z"))

    reported = await trend(tenant, CALLS)

    assert reported["timezone"] == "Pacific/Auckland"
    assert reported["result"][0]["days"] == ["2024-02-29", "2024-03-01", "2024-03-02"]
    assert reported["result"][0]["data"] == [1.0, 1.0, 0.0]


REFUSED: dict[str, tuple[Json, Json]] = {
    "another kind": (
        {"insight": "FUNNELS"},
        error(
            "validation_error",
            "invalid_choice",
            '"FUNNELS" is not a valid choice. Allowed are: LIFECYCLE, STICKINESS, TRENDS.',
            "insight",
        ),
    ),
    "a date": (
        {"date_from": "soon"},
        error("validation_error", "invalid_input", "Invalid date: soon", "date_from"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_an_invalid_trend_is_refused(tenant: Tenant, name: str) -> None:
    filters, reported = REFUSED[name]

    assert await trend(tenant, filters, 400) == reported


async def test_structured_query_parameters_must_be_json(tenant: Tenant) -> None:
    answer = await tenant.api.get("/insights/trend/", params={"events": "{"})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error", "invalid_input", "This value must be valid JSON.", "events"
    )


async def created(tenant: Tenant, **fields: Any) -> Json:
    answer = await tenant.api.post("/insights/", json=fields)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


@pytest.mark.every_engine
async def test_a_new_insight_has_every_field(tenant: Tenant) -> None:
    insight = await created(tenant, name="Calls", filters=CALLS, tags=[" A "], saved=True)

    assert len(insight.pop("short_id")) == 8
    assert len(insight.pop("filters_hash")) == 40
    assert insight == {
        "id": insight["id"],
        "name": "Calls",
        "derived_name": None,
        "description": "",
        "filters": CALLS,
        "query": None,
        "order": None,
        "deleted": False,
        "dashboards": [],
        "dashboard_tiles": [],
        "last_refresh": None,
        "next_allowed_client_refresh": None,
        "result": None,
        "columns": None,
        "created_at": "2024-03-01T12:00:00Z",
        "created_by": tenant.owner,
        "updated_at": "2024-03-01T12:00:00Z",
        "last_modified_at": "2024-03-01T12:00:00Z",
        "last_modified_by": tenant.owner,
        "tags": ["a"],
        "favorited": False,
        "saved": True,
        "is_sample": False,
        "effective_restriction_level": 21,
        "effective_privilege_level": 37,
        "timezone": "UTC",
        "is_cached": False,
    }


async def test_an_insight_has_its_result_once_it_was_calculated(tenant: Tenant) -> None:
    await two_days(tenant)
    insight = await created(tenant, filters=CALLS)
    path = f"/insights/{insight['id']}/"

    before = await tenant.get(path)
    refreshed = await tenant.get(path, refresh="true")
    after = await tenant.get(path)

    assert (before["result"], before["last_refresh"]) == (None, None)
    assert (len(refreshed["result"]), refreshed["is_cached"]) == (2, False)
    assert after == {**refreshed, "is_cached": True}
    [listed] = (await tenant.get("/insights/", short_id=insight["short_id"]))["results"]
    assert listed == after


@pytest.mark.every_engine
async def test_insights_are_listed_newest_first_and_can_be_filtered(tenant: Tenant) -> None:
    for number in range(3):
        tenant.server.clock.move(seconds=1)
        await created(tenant, name=f"Insight {number}", favorited=number == 1)

    every = await tenant.get("/insights/", limit=2)
    searched = await tenant.get("/insights/", search="INSIGHT 2")
    favourites = await tenant.get("/insights/", favorited="true")

    assert every["count"] == 3
    assert [insight["name"] for insight in every["results"]] == ["Insight 2", "Insight 1"]
    assert [insight["name"] for insight in searched["results"]] == ["Insight 2"]
    assert [insight["name"] for insight in favourites["results"]] == ["Insight 1"]


async def test_a_change_affects_only_the_given_fields_and_records_the_user(tenant: Tenant) -> None:
    insight = await created(tenant, name="a", filters=CALLS, tags=["x"])
    tenant.server.clock.move(hours=1)

    answer = await tenant.api.patch(f"/insights/{insight['id']}/", json={"name": "b"})

    assert answer.status_code == 200
    moved = {"updated_at": "2024-03-01T13:00:00Z", "last_modified_at": "2024-03-01T13:00:00Z"}
    assert answer.json() == {**insight, "name": "b", **moved}


async def test_an_insight_with_options_refused_now_can_still_be_renamed(
    tenant: Tenant,
) -> None:
    made = (await tenant.api.post("/insights/", json={"name": "a", "filters": CALLS})).json()
    old = {**CALLS, "breakdown_path_cleaning": True}
    async with tenant.server.records.write() as connection:
        await connection.execute(update(insights).values(filters=old))

    renamed = await tenant.api.patch(f"/insights/{made['id']}/", json={"name": "b", "filters": old})
    changed = await tenant.api.patch(
        f"/insights/{made['id']}/", json={"filters": {**old, "date_from": "-3d"}}
    )

    assert (renamed.status_code, renamed.json()["name"]) == (200, "b")
    assert changed.status_code == 400
    assert changed.json() == error(
        "validation_error",
        "invalid_input",
        "Trends with breakdown_path_cleaning are not supported. Leave it out.",
        "filters__breakdown_path_cleaning",
    )


async def test_a_deleted_insight_is_not_found_until_it_is_restored(tenant: Tenant) -> None:
    insight = await created(tenant, name="a")
    path = f"/insights/{insight['id']}/"

    deleted = await tenant.api.patch(path, json={"deleted": True})
    gone = await tenant.api.get(path)
    restored = await tenant.api.patch(path, json={"deleted": False})

    assert (deleted.status_code, gone.status_code, restored.status_code) == (200, 404, 200)
    assert (await tenant.get(path))["name"] == "a"


async def test_hard_deletion_of_an_insight_is_refused(tenant: Tenant) -> None:
    insight = await created(tenant, name="a")

    answer = await tenant.api.delete(f"/insights/{insight['id']}/")

    assert (answer.status_code, answer.content) == (405, b"")


async def test_an_insight_of_another_project_does_not_exist(tenant: Tenant) -> None:
    insight = await created(tenant, name="a")
    other = f"{tenant.server.client(tenant.key).base_url}"

    for path in (f"/insights/{insight['id'] + 1000}/", "/insights/x/"):
        answer = await tenant.api.get(path)
        assert answer.status_code == 404, (other, path)
        assert answer.json()["type"] == "invalid_request"


@pytest.mark.parametrize("dashboard", ["-1", "0", "x", str(2**63)])
async def test_an_invalid_dashboard_id_is_refused(tenant: Tenant, dashboard: str) -> None:
    insight = await created(tenant, name="a")

    answer = await tenant.api.get(
        f"/insights/{insight['id']}/", params={"from_dashboard": dashboard}
    )

    assert answer.status_code == 400
    assert (answer.json()["type"], answer.json()["attr"]) == ("validation_error", "from_dashboard")


async def test_an_outage_of_the_event_store_is_reported(tenant: Tenant) -> None:
    tenant.server.events.is_down = True
    try:
        answer = await tenant.api.post("/insights/trend/", json=CALLS)
    finally:
        tenant.server.events.is_down = False

    assert answer.status_code == 503


@pytest.mark.every_engine
async def test_deleted_insights_are_listed_apart(tenant: Tenant) -> None:
    kept, removed = await created(tenant, name="kept"), await created(tenant, name="removed")
    await tenant.api.patch(f"/insights/{removed['id']}/", json={"deleted": True})

    present = await tenant.get("/insights/")
    deleted = await tenant.get("/insights/", deleted="true", search="REM")

    assert [insight["id"] for insight in present["results"]] == [kept["id"]]
    assert [insight["id"] for insight in deleted["results"]] == [removed["id"]]


async def test_a_basic_list_has_no_results(tenant: Tenant) -> None:
    await two_days(tenant)
    insight = await created(tenant, filters=CALLS)
    await tenant.get(f"/insights/{insight['id']}/", refresh="true")

    [listed] = (await tenant.get("/insights/"))["results"]
    [basic] = (await tenant.get("/insights/", basic="true"))["results"]

    assert len(listed["result"]) == 2
    assert basic == insight


@pytest.mark.every_engine
async def test_a_change_that_is_based_on_an_older_state_is_refused(tenant: Tenant) -> None:
    insight = await created(tenant, name="a", filters=CALLS)
    path, read_at = f"/insights/{insight['id']}/", insight["last_modified_at"]
    tenant.server.clock.move(seconds=1)

    first = await tenant.api.patch(path, json={"name": "b", "expected_modified_at": read_at})
    late = await tenant.api.patch(path, json={"name": "c", "expected_modified_at": read_at})

    assert (first.status_code, first.json()["name"]) == (200, "b")
    assert (late.status_code, late.json()["code"]) == (409, "conflict")
    assert late.json()["attr"] == "expected_modified_at"
    assert (await tenant.get(path))["name"] == "b"
