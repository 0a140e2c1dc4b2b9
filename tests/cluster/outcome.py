"""The comparison of an installation's answers with the expected result of a load."""

from collections import Counter
from typing import Any

import httpx

from tests.cluster.load import ITEMS, Load
from tests.support.awaited import has_caught_up, until_soon
from tests.support.outcome import all_events, get_json

Json = dict[str, Any]


async def check(http: httpx.AsyncClient, load: Load) -> None:
    """Check that every acknowledged event is stored once, with the person of its distinct id."""
    due = Counter(load.names)

    async def all_are_stored() -> bool:
        # Events are visible before they are counted, and duplicates are counted too.
        totals = (await get_json(http, "/ingestion/"))["totals"]
        if totals["stored"] + totals["duplicates"] < due.total():
            return False
        return has_caught_up((await http.get(http.base_url.join("/metrics"))).text)

    await until_soon(all_are_stored, "not everything that was accepted is stored")
    stored = await all_events(http)
    assert Counter(event["properties"]["name"] for event in stored) == due
    await check_ledger(http, load)
    await check_persons(http, load, stored)


async def check_ledger(http: httpx.AsyncClient, load: Load) -> None:
    """Check the counts. Items of requests without an answer may be duplicates."""
    totals = (await get_json(http, "/ingestion/"))["totals"]
    assert totals["stored"] == load.acknowledged * ITEMS, totals
    assert totals["accepted"] == totals["stored"] + totals["duplicates"], totals


async def check_persons(http: httpx.AsyncClient, load: Load, stored: list[Json]) -> None:
    listed = (await get_json(http, "/persons/", limit=10_000))["results"]
    persons = {frozenset(person["distinct_ids"]): person for person in listed}

    assert persons.keys() == {frozenset(ids) for ids in load.persons()}
    for ids, person in persons.items():
        last = {f"of {distinct_id}": load.last_of(distinct_id) for distinct_id in ids}
        written = {name: value for name, value in last.items() if value}
        found = person["properties"]
        assert found == written, (sorted(ids), set(found.items()) ^ set(written.items()), load)
        of_person = await all_events(http, person_id=person["id"])
        names = {event["properties"]["name"] for event in of_person}
        due = {e["properties"]["name"] for e in stored if e["distinct_id"] in ids}
        assert names == due, (sorted(ids), person["id"], names - due, due - names)
