"""Dashboards over HTTP, and usage dashboards of flags."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error

KEY = "beta"


def called_filters(display: str, **math: str) -> Json:
    """Return the filters of a template's insight.

    Source: cohorts.md, section 20.
    """
    name = "$feature_flag_called"
    leaf = {"type": "event", "key": "$feature_flag", "value": KEY}
    return {
        "insight": "TRENDS",
        "display": display,
        "interval": "day",
        "date_from": "-30d",
        "events": [{"id": name, "name": name, "type": "events", **math}],
        "properties": {"type": "AND", "values": [{"type": "AND", "values": [leaf]}]},
        "breakdown": "$feature_flag_response",
        "breakdown_type": "event",
        "filter_test_accounts": False,
    }


async def created(tenant: Tenant, **fields: Any) -> Json:
    answer = await tenant.api.post("/dashboards/", json=fields)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def post(tenant: Tenant, path: str) -> tuple[int, Any]:
    answer = await tenant.api.post(path, json={"name": "ignored"})
    return answer.status_code, answer.json()


async def test_a_new_dashboard_has_every_field(tenant: Tenant) -> None:
    dashboard = await created(tenant, name="Mine", tags=["A"], filters={"date_from": "-7d"})

    assert dashboard == {
        "id": dashboard["id"],
        "name": "Mine",
        "description": "",
        "pinned": False,
        "created_at": "2024-03-01T12:00:00Z",
        "created_by": tenant.owner,
        "last_modified_at": "2024-03-01T12:00:00Z",
        "is_shared": False,
        "deleted": False,
        "creation_mode": "default",
        "filters": {"date_from": "-7d"},
        "tags": ["a"],
        "restriction_level": 21,
        "effective_restriction_level": 21,
        "effective_privilege_level": 37,
        "tiles": [],
    }
    assert await tenant.get(f"/dashboards/{dashboard['id']}/") == dashboard


@pytest.mark.every_engine
async def test_pinned_dashboards_come_first_then_names(tenant: Tenant) -> None:
    for name, pinned in (("c", False), ("b", True), ("a", False), ("d", True)):
        await created(tenant, name=name, pinned=pinned)

    listed = await tenant.get("/dashboards/")

    assert listed["count"] == 4
    assert [dashboard["name"] for dashboard in listed["results"]] == ["b", "d", "a", "c"]
    assert not {"tiles", "filters"} & set(listed["results"][0])


async def test_a_deleted_dashboard_is_not_found_until_it_is_restored(tenant: Tenant) -> None:
    dashboard = await created(tenant, name="a")
    path = f"/dashboards/{dashboard['id']}/"

    deleted = await tenant.api.patch(path, json={"deleted": True})
    gone = await tenant.api.get(path)
    renamed = await tenant.api.patch(path, json={"name": "b"})
    restored = await tenant.api.patch(path, json={"deleted": False})

    assert deleted.json() == {**dashboard, "deleted": True}
    assert gone.json() == error("invalid_request", "not_found", "Not found.")
    assert renamed.status_code == 404
    assert restored.json() == dashboard


async def test_hard_deletion_of_a_dashboard_is_refused(tenant: Tenant) -> None:
    dashboard = await created(tenant, name="a")

    answer = await tenant.api.delete(f"/dashboards/{dashboard['id']}/")

    assert (answer.status_code, answer.content) == (405, b"")


async def test_unknown_levels_and_dates_are_refused(tenant: Tenant) -> None:
    level = await tenant.api.post("/dashboards/", json={"restriction_level": 22})
    dates = await tenant.api.post("/dashboards/", json={"filters": {"date_from": "soon"}})

    detail = '"22" is not a valid choice. Allowed are: 21, 37.'
    assert level.json() == error("validation_error", "invalid_choice", detail, "restriction_level")
    assert dates.json() == error(
        "validation_error", "invalid_input", "Invalid date: soon", "filters__date_from"
    )


async def test_an_insight_uses_the_date_range_of_its_dashboard(tenant: Tenant) -> None:
    dashboard = await created(tenant, name="a", filters={"date_from": "-1d"})
    filters = {"events": [{"id": "x"}], "date_from": "-7d", "date_to": "-1d"}
    answer = await tenant.api.post(
        "/insights/", json={"filters": filters, "dashboards": [dashboard["id"]]}
    )
    insight = answer.json()

    returned = await tenant.get(f"/dashboards/{dashboard['id']}/", refresh="true")
    alone = await tenant.get(f"/insights/{insight['id']}/", from_dashboard=dashboard["id"])

    [tile] = returned["tiles"]
    assert tile["insight"]["filters"] == {**filters, "date_from": "-1d", "date_to": None}
    assert tile["insight"]["result"][0]["days"] == ["2024-02-29", "2024-03-01"]
    assert (tile["last_refresh"], tile["is_cached"]) == ("2024-03-01T12:00:00Z", False)
    assert alone["result"] == tile["insight"]["result"]
    assert insight["dashboards"] == [dashboard["id"]]
    assert insight["dashboard_tiles"] == [
        {"id": tile["id"], "dashboard_id": dashboard["id"], "deleted": False}
    ]


@pytest.mark.every_engine
async def test_tiles_can_be_moved_and_removed(tenant: Tenant) -> None:
    dashboard, other = await created(tenant, name="a"), await created(tenant, name="b")
    for name in ("first", "second"):
        body = {"name": name, "dashboards": [dashboard["id"], other["id"]]}
        await tenant.api.post("/insights/", json=body)
    path = f"/dashboards/{dashboard['id']}/"
    first, second = (await tenant.get(path))["tiles"]
    [foreign, _] = (await tenant.get(f"/dashboards/{other['id']}/"))["tiles"]

    layouts = {"sm": {"x": 1}}
    changes = [
        {"id": first["id"], "layouts": layouts, "color": "red"},
        {"id": second["id"], "deleted": True},
        {"id": foreign["id"], "deleted": True},
    ]
    answer = await tenant.api.patch(path, json={"tiles": changes})

    [left] = answer.json()["tiles"]
    assert (left["id"], left["layouts"], left["color"]) == (first["id"], layouts, "red")
    assert len((await tenant.get(f"/dashboards/{other['id']}/"))["tiles"]) == 2


async def test_a_tile_sent_without_changes_stays_unchanged(tenant: Tenant) -> None:
    dashboard = await created(tenant, name="a")
    await tenant.api.post("/insights/", json={"name": "first", "dashboards": [dashboard["id"]]})
    path = f"/dashboards/{dashboard['id']}/"
    before = await tenant.get(path)

    answer = await tenant.api.patch(path, json={"tiles": [{"id": before["tiles"][0]["id"]}]})

    assert (answer.status_code, answer.json()) == (200, before)


async def test_an_insight_names_the_dashboards_that_show_it(tenant: Tenant) -> None:
    first, second = await created(tenant, name="a"), await created(tenant, name="b")
    made = await tenant.api.post("/insights/", json={"dashboards": [first["id"]]})
    path = f"/insights/{made.json()['id']}/"

    moved = (await tenant.api.patch(path, json={"dashboards": [second["id"]]})).json()
    back = (await tenant.api.patch(path, json={"dashboards": [first["id"], second["id"]]})).json()
    refused = await tenant.api.patch(path, json={"dashboards": [987654]})

    assert moved["dashboards"] == [second["id"]]
    assert sorted(back["dashboards"]) == [first["id"], second["id"]]
    detail = 'Invalid pk "987654" - object does not exist.'
    assert refused.json() == error("validation_error", "does_not_exist", detail, "dashboards")


async def test_a_new_flag_has_a_dashboard_that_shows_how_it_is_used(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key=KEY)

    dashboard = await tenant.get(f"/dashboards/{flag['usage_dashboard']}/")

    about = f"This dashboard was generated by the feature flag with key ({KEY})"
    assert (dashboard["name"], dashboard["description"]) == (
        f"Generated Dashboard: {KEY} Usage",
        about,
    )
    assert dashboard["filters"] == {"date_from": "-30d"}
    assert dashboard["tags"] == ["feature flags"]
    assert dashboard["created_by"] == tenant.owner
    first, second = dashboard["tiles"]
    assert first["insight"]["name"] == "Feature Flag Called Total Volume"
    assert first["insight"]["filters"] == {**called_filters("ActionsLineGraph"), "date_to": None}
    assert first["insight"]["description"].endswith(KEY)
    assert first["insight"]["is_sample"] is True
    assert (first["color"], second["color"]) == ("blue", "green")
    assert first["layouts"] == {
        "sm": {"x": 0, "y": 0, "w": 6, "h": 5, "minW": 3, "minH": 5, "i": "21"},
        "xs": {"x": 0, "y": 0, "w": 1, "h": 5, "minW": 1, "minH": 5, "i": "21"},
    }
    assert second["insight"]["name"] == "Feature Flag calls made by unique users per variant"
    assert second["insight"]["filters"] == {
        **called_filters("ActionsTable", math="dau"),
        "date_to": None,
    }
    assert second["insight"]["description"].endswith(KEY)


async def test_a_usage_dashboard_counts_calls_and_callers(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key=KEY)
    await tenant.capture(
        *(
            {
                "event": "$feature_flag_called",
                "distinct_id": distinct_id,
                "properties": {"$feature_flag": key, "$feature_flag_response": answer},
                "timestamp": "2024-03-01T10:00:00Z",
            }
            for distinct_id, key, answer in (
                ("ann", KEY, "test"),
                ("ann", KEY, "test"),
                ("bob", KEY, True),
                ("bob", "another", True),
            )
        )
    )

    returned = await tenant.get(f"/dashboards/{flag['usage_dashboard']}/", refresh="true")

    calls, callers = (tile["insight"]["result"] for tile in returned["tiles"])
    assert [(entry["label"], entry["count"], len(entry["data"])) for entry in calls] == [
        ("test", 2.0, 31),
        ("true", 1.0, 31),
    ]
    assert [(entry["label"], entry["aggregated_value"]) for entry in callers] == [
        ("test", 1.0),
        ("true", 1.0),
    ]


@pytest.mark.every_engine
async def test_the_longest_key_there_can_be_has_a_usage_dashboard(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key="k" * 400)

    dashboard = await tenant.get(f"/dashboards/{flag['usage_dashboard']}/")

    assert dashboard["name"] == f"Generated Dashboard: {'k' * 379}"
    assert dashboard["description"].endswith(f"with key ({'k' * 400})")


async def test_a_refused_flag_leaves_no_dashboard(tenant: Tenant) -> None:
    await tenant.create_flag(key=KEY)

    await tenant.api.post("/feature_flags/", json={"key": KEY})

    assert (await tenant.get("/dashboards/"))["count"] == 1


async def test_a_flag_keeps_its_existing_usage_dashboard(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key=KEY)
    path = f"/feature_flags/{flag['id']}/"

    answers = [await post(tenant, f"{path}dashboard/") for _ in range(2)]

    assert answers == [(200, flag | {"success": True})] * 2
    assert (await tenant.get("/dashboards/"))["count"] == 1


async def test_a_deleted_usage_dashboard_is_created_again(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key=KEY)
    path = f"/feature_flags/{flag['id']}/"
    await tenant.api.patch(f"/dashboards/{flag['usage_dashboard']}/", json={"deleted": True})

    status, answer = await post(tenant, f"{path}dashboard/")

    new = answer["usage_dashboard"]
    assert (status, answer["key"]) == (200, KEY)
    assert new != flag["usage_dashboard"]
    assert (await tenant.get(path))["usage_dashboard"] == new
    assert len((await tenant.get(f"/dashboards/{new}/"))["tiles"]) == 2


async def test_a_usage_dashboard_is_enriched_however_often_it_is_asked(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key=KEY)
    path = f"/feature_flags/{flag['id']}/"
    enriched = {**flag, "has_enriched_analytics": True, "success": True}

    answers = [await post(tenant, f"{path}enrich_usage_dashboard/") for _ in range(2)]
    tiles = (await tenant.get(f"/dashboards/{flag['usage_dashboard']}/"))["tiles"]

    assert answers == [(200, enriched)] * 2
    names = [tile["insight"]["name"] for tile in tiles]
    assert names[2:] == ["Feature Viewed Total Volume", "Feature Interaction Total Volume"]
    [marked, _] = (await tenant.get(f"{path}activity/"))["results"]
    assert [change["field"] for change in marked["detail"]["changes"]] == ["has_enriched_analytics"]


@pytest.mark.parametrize("loss", ["deleted", "never made"])
async def test_enriching_makes_a_dashboard_that_is_missing(tenant: Tenant, loss: str) -> None:
    flag = await tenant.create_flag(key=KEY, has_enriched_analytics=True)
    if loss == "deleted":
        path = f"/dashboards/{flag['usage_dashboard']}/"
        await tenant.api.patch(path, json={"deleted": True})
    else:
        await tenant.store_flag(flag, usage_dashboard=None)

    status, answer = await post(tenant, f"/feature_flags/{flag['id']}/enrich_usage_dashboard/")

    assert status == 200
    assert answer["usage_dashboard"] not in (None, flag["usage_dashboard"])
    assert len((await tenant.get(f"/dashboards/{answer['usage_dashboard']}/"))["tiles"]) == 4


async def test_an_enriched_dashboard_shows_views_and_interactions(tenant: Tenant) -> None:
    flag = await tenant.create_flag(key=KEY, has_enriched_analytics=True)

    tiles = (await tenant.get(f"/dashboards/{flag['usage_dashboard']}/"))["tiles"][2:]

    leaf = {"type": "event", "key": "feature_flag", "value": KEY}
    for tile, event, name in zip(
        tiles,
        ("$feature_view", "$feature_interaction"),
        ("Feature View", "Feature Interaction"),
        strict=True,
    ):
        assert (tile["layouts"], tile["color"]) == ({}, None)
        assert tile["insight"]["filters"] == {
            "insight": "TRENDS",
            "display": "ActionsLineGraph",
            "interval": "day",
            "date_from": "-30d",
            "date_to": None,
            "properties": {"type": "AND", "values": [{"type": "AND", "values": [leaf]}]},
            "filter_test_accounts": False,
            "events": [
                {"id": event, "type": "events", "name": f"{name} - Total"},
                {"id": event, "type": "events", "name": f"{name} - Unique users", "math": "dau"},
            ],
        }
    assert [tile["insight"]["name"] for tile in tiles] == [
        "Feature Viewed Total Volume",
        "Feature Interaction Total Volume",
    ]


async def test_dashboards_of_an_unknown_flag_do_not_exist(tenant: Tenant) -> None:
    detail = 404, error("invalid_request", "not_found", "Not found.")

    assert await post(tenant, "/feature_flags/987654/dashboard/") == detail
    assert await post(tenant, "/feature_flags/987654/enrich_usage_dashboard/") == detail


@pytest.mark.every_engine
async def test_dashboards_of_a_flag_must_exist_and_are_stored_as_sent(tenant: Tenant) -> None:
    first, second = await created(tenant, name="a"), await created(tenant, name="b")
    flag = await tenant.create_flag(key=KEY, analytics_dashboards=[first["id"], first["id"]])
    path = f"/feature_flags/{flag['id']}/"

    answer = await tenant.api.patch(
        path, json={"analytics_dashboards": [second["id"], first["id"]]}
    )
    nothing = await tenant.api.patch(path, json={"analytics_dashboards": []})
    refused = await tenant.api.patch(path, json={"analytics_dashboards": [987654]})

    assert flag["analytics_dashboards"] == [first["id"]]
    assert answer.json()["analytics_dashboards"] == [second["id"], first["id"]]
    assert nothing.json()["analytics_dashboards"] == []
    detail = 'Invalid pk "987654" - object does not exist.'
    assert refused.json() == error(
        "validation_error", "does_not_exist", detail, "analytics_dashboards"
    )


@pytest.mark.every_engine
async def test_deleted_dashboards_are_listed_apart(tenant: Tenant) -> None:
    kept, removed = await created(tenant, name="kept"), await created(tenant, name="removed")
    await tenant.api.patch(f"/dashboards/{removed['id']}/", json={"deleted": True})

    present = await tenant.get("/dashboards/")
    deleted = await tenant.get("/dashboards/", deleted="true")

    assert [dashboard["id"] for dashboard in present["results"]] == [kept["id"]]
    assert [dashboard["id"] for dashboard in deleted["results"]] == [removed["id"]]


async def test_a_basic_dashboard_has_the_own_questions_of_its_insights(tenant: Tenant) -> None:
    dashboard = await created(tenant, name="a", filters={"date_from": "-3d"})
    filters = {"events": [{"id": "a"}], "date_from": "-7d"}
    insight = {"filters": filters, "dashboards": [dashboard["id"]]}
    await tenant.api.post("/insights/", json=insight)
    path = f"/dashboards/{dashboard['id']}/"

    full, basic = await tenant.get(path, refresh="true"), await tenant.get(path, basic="true")
    with_own = await tenant.get(path, own_questions="true")

    [shown], [own], [both] = full["tiles"], basic["tiles"], with_own["tiles"]
    assert shown["insight"]["filters"]["date_from"] == "-3d"
    assert len(shown["insight"]["result"]) == 1
    assert shown["beside"].keys() == {"rows_read", "seconds"}
    assert (own["insight"]["filters"], own["insight"]["result"]) == (filters, None)
    assert own["beside"] == {}
    assert both["insight"]["filters"] == filters
    [entry], [with_urls] = both["insight"]["result"], shown["insight"]["result"]
    assert entry["data"] == with_urls["data"]
    places = [{"filter": one["filter"]} for one in with_urls["persons_urls"]]
    assert entry["persons_urls"] == places
    assert (both["beside"], both["last_refresh"]) == (shown["beside"], shown["last_refresh"])
    assert basic["filters"] == with_own["filters"] == {"date_from": "-3d"}
