"""The actors behind a number, over HTTP: in pages, as CSV, and searched for."""

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.application import Json, Tenant

PERSONS = 7
BACK = {"period": "Day", "total_intervals": 3, "date_to": "2024-03-01"}
SEEN = {"target_entity": {"id": "seen"}, "returning_entity": {"id": "seen"}}
ASKED: dict[str, Any] = {**BACK, **SEEN, "selected_interval": 0}


def seen(who: str, day: str, **more: Any) -> Json:
    return {"event": "seen", "distinct_id": who, "timestamp": f"2024-{day}T10:00:00Z", **more}


@pytest.fixture
async def shop(tenant: Tenant) -> Tenant:
    """Store PERSONS persons on the first of three days, and a visitor without a profile.

    p1 came on all three days, p0 on two of them.
    """
    await tenant.capture(
        *(seen(f"p{n}", "02-28", **{"$set": {"email": f"p{n}@a.com"}}) for n in range(PERSONS)),
        seen("p1", "02-29"),
        seen("p1", "03-01"),
        seen("p0", "03-01"),
        seen("nobody", "02-28", properties={"$process_person_profile": False}),
    )
    return tenant


async def ask(tenant: Tenant, **query: Any) -> Json:
    answer = await tenant.api.post("/persons/retention/", json=query)
    assert answer.status_code == 200, answer.text
    result: Json = answer.json()
    return result


async def ask_by_query(tenant: Tenant, **query: Any) -> Json:
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in query.items()
    }
    result: Json = await tenant.get("/persons/retention/", **texts)
    return result


def people(body: Json) -> list[Json]:
    [result] = body["results"]
    assert result["count"] == len(result["people"])
    return list(result["people"])


def names(body: Json) -> list[str]:
    return [person["name"].partition("@")[0] for person in people(body)]


async def test_persons_are_listed_with_what_they_contribute(shop: Tenant) -> None:
    body = await ask(shop, **ASKED)

    first = people(body)[0]
    assert first["appearances"] == [1, 1, 1]
    assert (first["type"], first["name"], first["distinct_ids"]) == ("person", "p1@a.com", ["p1"])
    assert first["id"] == first["uuid"] == (await shop.person("p1"))["uuid"]
    assert first["properties"] == {"email": "p1@a.com"}
    assert people(body)[1]["appearances"] == [1, 0, 1]
    assert sorted(names(body)) == [f"p{n}" for n in range(PERSONS)]
    assert (body["missing_persons"], body["next"], body["is_cached"]) == (1, None, False)
    assert body["last_refresh"] == "2024-03-01T12:00:00Z"


async def test_both_ways_to_ask_give_the_same_list(shop: Tenant) -> None:
    assert await ask_by_query(shop, **ASKED) == await ask(shop, **ASKED)


@pytest.mark.parametrize("by_query", [True, False])
async def test_pages_follow_one_another(shop: Tenant, by_query: bool) -> None:
    question = {**ASKED, "limit": 3}
    body = await (ask_by_query(shop, **question) if by_query else ask(shop, **question))
    pages = [body]
    while pages[-1]["next"] is not None:
        assert urlsplit(pages[-1]["next"]).path.endswith("/persons/retention/")
        answer = await shop.api.get(pages[-1]["next"])
        assert answer.status_code == 200, answer.text
        pages.append(answer.json())

    assert [len(people(page)) + page["missing_persons"] for page in pages] == [3, 3, 2]
    result = [name for page in pages for name in names(page)]
    assert result[:2] == ["p1", "p0"]
    assert sorted(result) == [f"p{n}" for n in range(PERSONS)]
    first = await shop.api.get(pages[-1]["initial"])
    assert people(first.json()) == people(pages[0])


@pytest.mark.parametrize(
    ("search", "expected"),
    [("p3", ["p3"]), ("P3@A", ["p3"]), ("@a.com", [f"p{n}" for n in range(PERSONS)]), ("x", [])],
)
async def test_persons_are_searched_for(shop: Tenant, search: str, expected: list[str]) -> None:
    body = await ask(shop, **ASKED, search=search)

    assert sorted(names(body)) == expected


async def test_persons_are_searched_for_by_name(shop: Tenant) -> None:
    named = {"name": "Carla Rossi", "username": "cr"}
    await shop.capture({"event": "$set", "distinct_id": "p3", "properties": {"$set": named}})

    result = [names(await ask(shop, **ASKED, search=text)) for text in ("ROSSI", "cr", "rossini")]

    assert result == [["p3"], ["p3"], []]


async def test_a_search_keeps_the_order_and_takes_ids(shop: Tenant) -> None:
    uuid = (await shop.person("p1"))["uuid"]

    assert names(await ask(shop, **ASKED, search="@a.com"))[:2] == ["p1", "p0"]
    assert names(await ask(shop, **ASKED, search=uuid)) == ["p1"]
    page = await ask(shop, **ASKED, search="@a.com", limit=2)
    assert "search=%40a.com" in page["next"]


@pytest.fixture(params=["format", "accept"])
async def table(request: pytest.FixtureRequest, shop: Tenant) -> AsyncIterator[list[Json]]:
    accept = request.param == "accept"
    answer = await shop.api.post(
        "/persons/retention/",
        json={**ASKED, "limit": 2},
        params={} if accept else {"format": "csv"},
        headers={"accept": "text/csv"} if accept else {},
    )
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/csv")
    yield list(csv.DictReader(io.StringIO(answer.text)))


async def test_a_table_has_all_persons(table: list[Json]) -> None:
    assert sorted(row["email"] for row in table) == [f"p{n}@a.com" for n in range(PERSONS)]
    assert [table[0][f"appearances.{n}"] for n in range(3)] == ["1", "1", "1"]
    assert table[0]["distinct_ids.0"] == "p1"


async def test_a_formula_in_a_table_is_text(shop: Tenant) -> None:
    await shop.capture(seen("p1", "02-28", **{"$set": {"note": "=1+1"}}))

    answer = await shop.api.post("/persons/retention/", json={**ASKED, "format": "csv"})

    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert rows[0]["properties.note"] == "'=1+1"


async def test_a_table_of_nobody_is_empty(tenant: Tenant) -> None:
    answer = await tenant.api.post("/persons/retention/", json={**ASKED, "format": "csv"})

    assert (answer.status_code, answer.content) == (200, b"")


async def test_groups_are_listed(tenant: Tenant) -> None:
    described = {"$group_type": "company", "$group_key": "acme", "$group_set": {"name": "Acme Inc"}}
    await tenant.capture(
        {"event": "$groupidentify", "distinct_id": "d", "properties": described},
        seen("ann", "02-28", properties={"$groups": {"company": "acme"}}),
        seen("bob", "02-28", properties={"$groups": {"company": "other"}}),
        seen("cid", "02-28"),
    )
    question = {**ASKED, "aggregation_group_type_index": 0}

    body = await ask(tenant, **question)
    searched = [await ask(tenant, **question, search=text) for text in ("ACME I", "oth", "ann")]

    acme, other = people(body)
    assert (acme["type"], acme["id"], acme["group_key"], acme["name"]) == (
        "group",
        "acme",
        "acme",
        "Acme Inc",
    )
    assert (acme["properties"], acme["group_type_index"]) == ({"name": "Acme Inc"}, 0)
    assert (other["id"], other["properties"], other["created_at"]) == ("other", {}, None)
    assert body["missing_persons"] == 0
    assert [names(page) for page in searched] == [["Acme Inc"], ["other"], []]


@pytest.mark.parametrize(
    ("sent", "attr", "detail"),
    [
        ({"selected_interval": 3}, "selected_interval", "between 0 and 2"),
        ({"selected_intervl": 3}, "selected_intervl", 'Did you mean "selected_interval"?'),
        ({"events": "x"}, "events", ""),
        ({"format": "xml"}, "format", "Allowed are: csv, json"),
        ({"search": 3}, "search", "Not a valid string."),
    ],
)
async def test_what_cannot_be_used_is_refused(
    tenant: Tenant, sent: Json, attr: str, detail: str
) -> None:
    answer = await tenant.api.post("/persons/retention/", json={**ASKED, **sent})

    assert (answer.status_code, answer.json()["attr"]) == (400, attr), answer.text
    assert detail in answer.json()["detail"]


async def test_a_body_must_be_an_object(tenant: Tenant) -> None:
    answer = await tenant.api.post("/persons/retention/", json=[])

    assert (answer.status_code, answer.json()["detail"]) == (400, "The body must be a JSON object.")


async def test_strangers_are_refused(tenant: Tenant) -> None:
    answer = await tenant.public.get(f"/api/projects/{tenant.project_id}/persons/retention/")

    assert answer.status_code == 401
