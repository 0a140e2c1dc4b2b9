"""Property definitions, as capture creates them and the API returns them."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant, error

pytestmark = pytest.mark.every_engine


async def properties(tenant: Tenant, **query: Any) -> dict[str, Json]:
    page = await tenant.get("/property_definitions/", **query)
    assert page["count"] == len(page["results"])
    return {definition["name"]: definition for definition in page["results"]}


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    await tenant.capture(
        {
            "event": "paid",
            "distinct_id": "u",
            "properties": {"price": 9.5, "plan": "pro", "at_time": 1700000000, "is_new": True},
        },
        {"event": "seen", "distinct_id": "u", "properties": {"plan": "free", "$set": {"a": 1}}},
        {"event": "seen", "distinct_id": "u", "properties": {"day": "2024-03-01"}},
    )
    return tenant


async def test_each_property_has_a_type_and_its_events(shop: Tenant) -> None:
    definitions = await properties(shop)

    returned = {
        name: (definition["property_type"], definition["is_numerical"], definition["event_names"])
        for name, definition in definitions.items()
    }
    ids = [definition["id"] for definition in definitions.values()]
    assert {name: returned[name] for name in returned if not name.startswith("$")} == {
        "at_time": ("DateTime", False, ["paid"]),
        "day": ("DateTime", False, ["seen"]),
        "is_new": (None, False, ["paid"]),
        "plan": ("String", False, ["paid", "seen"]),
        "price": ("Numeric", True, ["paid"]),
    }
    assert list(definitions) == sorted(definitions)
    assert "$set" not in definitions
    assert await shop.get(f"/property_definitions/{ids[0]}/") == next(iter(definitions.values()))


async def test_a_property_without_a_column_of_its_own_says_so(shop: Tenant) -> None:
    assert {of["column_bytes"] for of in (await properties(shop)).values()} == {None}


LISTS: dict[str, tuple[Json, list[str]]] = {
    "search": ({"search": "P PRI"}, ["price"]),
    "names": ({"properties": "plan,day,unknown"}, ["day", "plan"]),
    "numeric": ({"is_numerical": "true"}, ["price"]),
    "of an event": ({"event_names": '["seen"]', "search": "a"}, ["day", "plan"]),
    "excluded": ({"properties": "plan,day", "excluded_properties": '["plan"]'}, ["day"]),
    "of an unknown event": ({"event_names": '["nobody\'s"]'}, []),
}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_is_chosen(shop: Tenant, name: str) -> None:
    query, expected = LISTS[name]

    assert list(await properties(shop, **query)) == expected


async def test_a_type_stays_as_it_was_first_reported(shop: Tenant) -> None:
    await shop.capture({"event": "paid", "distinct_id": "u", "properties": {"price": "none"}})

    assert (await properties(shop))["price"]["property_type"] == "Numeric"


async def test_a_property_without_type_gets_one_when_memory_is_read_again(shop: Tenant) -> None:
    shop.server.clock.move(minutes=6)
    await shop.capture({"event": "paid", "distinct_id": "u", "properties": {"is_new": "yes"}})

    assert (await properties(shop))["is_new"]["property_type"] == "String"


async def test_later_events_add_themselves(shop: Tenant) -> None:
    await shop.capture({"event": "left", "distinct_id": "u", "properties": {"price": 1, "new": 2}})

    definitions = await properties(shop)

    assert definitions["price"]["event_names"] == ["left", "paid"]
    assert definitions["new"]["event_names"] == ["left"]


async def test_pages_are_linked(shop: Tenant) -> None:
    first = await shop.get("/property_definitions/", limit=2)
    second = (await shop.api.get(first["next"])).json()

    returned = [definition["name"] for definition in (*first["results"], *second["results"])]
    assert returned == list(await properties(shop))[:4]


@pytest.mark.parametrize("name", ["0190d0a6-0000-7000-8000-000000000000", "plan", "1"])
async def test_an_unknown_one_is_not_found(tenant: Tenant, name: str) -> None:
    answer = await tenant.api.get(f"/property_definitions/{name}/")

    assert answer.status_code == 404
    assert answer.json() == error("invalid_request", "not_found", "Not found.")


async def test_a_list_of_events_that_is_none_is_refused(tenant: Tenant) -> None:
    answer = await tenant.api.get("/property_definitions/", params={"event_names": "paid"})

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error", "invalid_input", "Must be a JSON list of names.", "event_names"
    )
