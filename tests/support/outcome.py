"""The comparison of what a server shows with what was sent to it."""

import asyncio
from collections import Counter
from typing import Any

import httpx

from tests.support.awaited import has_caught_up
from tests.support.traffic import Expected, Request, Traffic, expected

ENOUGH = 60  # acknowledged requests; fewer would prove nothing
CATCH_UP_S = 120

Json = dict[str, Any]


async def check_outcome(http: httpx.AsyncClient, traffic: Traffic) -> None:
    """Check everything that can be read, once ingestion has caught up."""
    await until_caught_up(http)
    stored = await all_events(http)
    arrived = check_events(traffic, stored)
    due = expected(arrived)
    await check_persons(http, due)
    await check_groups(http, due, stored)
    await check_definitions(http, stored)
    await check_ledger(http, traffic, stored)


async def until_caught_up(http: httpx.AsyncClient) -> None:
    async with asyncio.timeout(CATCH_UP_S):
        while True:
            metrics = (await http.get(str(http.base_url.join("/metrics")))).text
            if has_caught_up(metrics):
                return
            await asyncio.sleep(0.05)


async def get_json(http: httpx.AsyncClient, path: str, **query: Any) -> Any:
    answer = await http.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def all_events(http: httpx.AsyncClient, **query: Any) -> list[Json]:
    page = await get_json(http, "/events/", limit=5000, **query)
    events: list[Json] = page["results"]
    while page["next"] is not None:
        page = await get_json(http, page["next"])
        events += page["results"]
    return events


def check_events(traffic: Traffic, stored: list[Json]) -> list[Request]:
    """Check that each item is stored once, and that of a request all items or none are.

    Returns:
        The requests that arrived.
    """
    counts = Counter(event["properties"]["name"] for event in stored)
    arrived = [request for request in traffic.requests if request.names[0] in counts]
    acknowledged = [request for request in traffic.requests if request.acknowledged]

    assert len(acknowledged) >= ENOUGH
    assert [request.names for request in acknowledged if request not in arrived] == []
    assert counts == Counter(name for request in arrived for name in request.names)
    return arrived


async def check_persons(http: httpx.AsyncClient, due: Expected) -> None:
    """Check that persons, with their events, are as a plain reading of the reference makes them."""
    listed = (await get_json(http, "/persons/", limit=10_000))["results"]
    persons = {tuple(sorted(row["distinct_ids"])): row for row in listed}

    assert persons.keys() == {
        tuple(sorted(expected_person.distinct_ids)) for expected_person in due.identities.persons
    }
    for expected_person in due.identities.persons:
        person = persons[tuple(sorted(expected_person.distinct_ids))]
        assert person["properties"] == expected_person.properties
        assert person["is_identified"] == expected_person.is_identified
        assert person["created_at"] == expected_person.created_at.isoformat().replace("+00:00", "Z")
        of_person = await all_events(http, person_id=person["id"])
        assert {event["properties"]["name"] for event in of_person} == expected_person.events


async def check_groups(http: httpx.AsyncClient, due: Expected, stored: list[Json]) -> None:
    types = await get_json(http, "/groups_types/")
    names = {group_type["group_type_index"]: group_type["group_type"] for group_type in types}
    groups = {
        (names[index], group["group_key"]): group["group_properties"]
        for index in names
        for group in (await get_json(http, "/groups/", group_type_index=index, limit=10_000))[
            "results"
        ]
    }

    assert groups == due.groups
    for properties in (event["properties"] for event in stored):
        columns = {
            names[i]: properties[f"$group_{i}"] for i in names if f"$group_{i}" in properties
        }
        assert columns == properties.get("$groups", {})


async def check_definitions(http: httpx.AsyncClient, stored: list[Json]) -> None:
    definitions = (await get_json(http, "/event_definitions/"))["results"]

    assert sorted(definition["name"] for definition in definitions) == sorted(
        {event["event"] for event in stored}
    )


async def check_ledger(http: httpx.AsyncClient, traffic: Traffic, stored: list[Json]) -> None:
    """Check the totals of all items that arrived, however often they were sent."""
    totals = (await get_json(http, "/ingestion/"))["totals"]

    sent = sum(len(request.items) * request.tries for request in traffic.requests)
    acknowledged = sum(len(request.items) * request.acknowledged for request in traffic.requests)
    assert totals["stored"] == len(stored)
    assert acknowledged <= totals["accepted"] <= sent
    assert totals["accepted"] == totals["stored"] + totals["duplicates"]
    assert totals["duplicates"] > 0 or sent == acknowledged
