"""Event definitions, as capture creates them."""

import pytest

from tests.support.application import Tenant, error

pytestmark = pytest.mark.every_engine

UNKNOWN = "0190d0a6-0000-7000-8000-000000000000"


async def test_each_stored_name_has_one_definition(tenant: Tenant) -> None:
    now = tenant.server.clock.now().isoformat().replace("+00:00", "Z")

    await tenant.capture(
        {"event": "paid", "distinct_id": "u", "timestamp": "2020-01-01"},
        {"event": "$pageview", "distinct_id": "u"},
        {"event": "paid", "distinct_id": "v"},
        {"event": "nobody's"},
    )
    page = await tenant.get("/event_definitions/")

    assert (page["count"], page["next"], page["previous"]) == (2, None, None)
    assert [definition["name"] for definition in page["results"]] == ["$pageview", "paid"]
    assert page["results"][1] == {
        "id": page["results"][1]["id"],
        "name": "paid",
        "created_at": now,
        "last_seen_at": now,
        "last_updated_at": None,
        "description": "",
        "tags": [],
        "owner": None,
        "hidden": False,
        "verified": False,
        "verified_at": None,
        "verified_by": None,
        "updated_at": None,
        "updated_by": None,
        "is_action": False,
        "action_id": None,
        "is_calculating": False,
        "last_calculated_at": None,
        "created_by": None,
        "post_to_chat": False,
    }


async def test_seen_again_the_definition_stays_the_same(tenant: Tenant) -> None:
    await tenant.capture({"event": "paid", "distinct_id": "u"})
    [first] = (await tenant.get("/event_definitions/"))["results"]

    tenant.server.clock.move(days=2)
    await tenant.capture({"event": "paid", "distinct_id": "u"})
    [again] = (await tenant.get("/event_definitions/"))["results"]

    assert again["id"] == first["id"]
    assert again["created_at"] == first["created_at"]
    assert again["last_seen_at"] > first["last_seen_at"]


async def test_one_definition_is_retrieved(tenant: Tenant) -> None:
    await tenant.capture({"event": "paid", "distinct_id": "u"})
    [listed] = (await tenant.get("/event_definitions/"))["results"]

    assert await tenant.get(f"/event_definitions/{listed['id']}/") == listed


@pytest.mark.parametrize("name", [UNKNOWN, "paid", "1"])
async def test_an_unknown_definition_is_not_found(tenant: Tenant, name: str) -> None:
    answer = await tenant.api.get(f"/event_definitions/{name}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_definitions_come_in_pages(tenant: Tenant) -> None:
    await tenant.capture(*({"event": f"e{n}", "distinct_id": "u"} for n in range(5)))

    first = await tenant.get("/event_definitions/", limit=2)
    second = (await tenant.api.get(first["next"])).json()
    last = (await tenant.api.get(second["next"])).json()

    names = [
        [definition["name"] for definition in page["results"]] for page in (first, second, last)
    ]
    assert names == [["e0", "e1"], ["e2", "e3"], ["e4"]]
    assert [page["count"] for page in (first, second, last)] == [5, 5, 5]
    assert (first["previous"], last["next"]) == (None, None)
    assert second["previous"].endswith("/event_definitions/?limit=2")
