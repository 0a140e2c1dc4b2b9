"""Lists of persons sorted by a property, which the event store does."""

import json
from typing import Any, cast

import pytest

from fanion.errors import Invalid
from fanion.events.storage.store import EventStore
from fanion.persons.list_store import PersonQuery
from fanion.persons.property_order_store import PropertyOrder, persons_by_property
from tests.support.application import Json, Tenant


def event(distinct_id: str, **properties: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "properties": properties}


PLANS: dict[str, Any] = {
    "ann": 9,
    "bob": "10",
    "cy": 2.5,
    "dee": "basic",
    "eve": "Pro",
    "fay": "alpha",
    "gus": True,
    "hal": "",
    "ida": None,
    "joe": "é" * 50_000,
    "kim": "NaN",
}
ASCENDING = ["cy", "ann", "bob", "fay", "dee", "kim", "eve", "gus", "joe"]
WITHOUT = ["lou", "ida", "hal"]


async def people(tenant: Tenant) -> None:
    """Create persons a minute apart; the last one has no plan at all."""
    for name, plan in PLANS.items():
        await tenant.capture(event(name, **{"$set": {"plan": plan, "name": name}}))
        tenant.server.clock.move(minutes=1)
    await tenant.capture(event("lou", **{"$set": {"name": "lou"}}))


def names(page: Json) -> list[str]:
    return [person["name"] for person in page["results"]]


@pytest.mark.every_engine
async def test_persons_are_sorted_by_a_property_numbers_first(tenant: Tenant) -> None:
    await people(tenant)

    ascending = names(await tenant.get("/persons/", order="properties.plan"))
    descending = names(await tenant.get("/persons/", order="-properties.plan"))

    assert ascending == ASCENDING + WITHOUT
    assert descending == ASCENDING[::-1] + WITHOUT


@pytest.mark.every_engine
async def test_next_leads_through_persons_in_the_order_of_a_property(tenant: Tenant) -> None:
    await people(tenant)

    page = await tenant.get("/persons/", order="properties.plan", limit=5)
    listed, pages = names(page), 1
    while page["next"]:
        page = (await tenant.api.get(page["next"])).json()
        listed, pages = listed + names(page), pages + 1

    assert (listed, pages) == (ASCENDING + WITHOUT, 3)


@pytest.mark.every_engine
async def test_the_order_goes_with_a_search_and_conditions(tenant: Tenant) -> None:
    await people(tenant)
    set_ones = json.dumps([{"key": "plan", "operator": "is_set", "value": "is_set"}])
    letters = json.dumps([{"key": "name", "operator": "regex", "value": "^[a-e]"}])

    found = names(await tenant.get("/persons/", order="-properties.plan", search="a"))
    chosen = names(await tenant.get("/persons/", order="properties.plan", properties=letters))
    both = await tenant.get("/persons/", order="properties.plan", search="a", properties=set_ones)
    nobody = await tenant.get("/persons/", order="properties.plan", search="nobody of the sort")

    assert found == ["fay", "ann", "ida", "hal"]
    assert chosen == ["cy", "ann", "bob", "dee", "eve"]
    assert names(both)[:2] == ["ann", "fay"]
    assert names(nobody) == []


KEYS = ["a.b", "$os", 'it\'s "so"', "é", "x" * 300, "properties.plan", "-"]


async def test_a_property_of_any_name_sorts(tenant: Tenant) -> None:
    for number, name in enumerate(("two", "one")):
        values = dict.fromkeys(KEYS, 2 - number)
        await tenant.capture(event(name, **{"$set": values | {"name": name}}))

    for key in KEYS:
        listed = names(await tenant.get("/persons/", order=f"properties.{key}"))
        assert listed == ["one", "two"], key


async def test_a_deleted_person_leaves_the_order_at_once(tenant: Tenant) -> None:
    await people(tenant)
    [eve] = (await tenant.get("/persons/", distinct_id="eve"))["results"]
    answer = await tenant.api.delete(f"/persons/{eve['uuid']}/")
    assert answer.status_code == 204

    page = await tenant.get("/persons/", order="properties.plan")

    assert names(page) == [name for name in ASCENDING if name != "eve"] + WITHOUT


async def test_a_search_that_finds_too_many_cannot_be_sorted_by_a_property(tenant: Tenant) -> None:
    await people(tenant)
    server, events = tenant.server, cast(EventStore, tenant.server.events)
    query, order = PersonQuery(search="a"), PropertyOrder("plan", is_descending=False)

    with pytest.raises(Invalid, match="More than 3 persons are found"):
        await persons_by_property(
            server.records,
            events,
            tenant.project_id,
            query,
            order,
            (),
            server.clock.now(),
            3,
        )


@pytest.mark.parametrize("order", ["properties.", "-properties.", "plan", "properties", "--email"])
async def test_an_order_that_names_no_property_is_refused(tenant: Tenant, order: str) -> None:
    answer = await tenant.api.get("/persons/", params={"order": order})

    body = answer.json()
    assert (answer.status_code, body["code"], body["attr"]) == (400, "invalid_choice", "order")
    assert body["detail"].startswith(f'"{order}" is not a valid choice. ')
