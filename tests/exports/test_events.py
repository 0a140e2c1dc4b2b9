"""The export of events."""

import csv
import io
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import httpx
import pytest

from tests.support.application import Json, Tenant
from tests.support.management import NOW, add_key

COLUMNS = ["uuid", "event", "timestamp", "distinct_id", "person_id", "created_at", "properties"]
HARD = '=1+1 "quoted", größe\\n\u2028'


def uuid(number: int) -> str:
    return f"0190d0a6-0000-7000-8000-{number:012}"


def item(number: int, event: str = "seen", distinct_id: str = "ann", **properties: Any) -> Json:
    """Return an event. The higher the number, the later it happened."""
    return {
        "event": event,
        "uuid": uuid(number),
        "distinct_id": distinct_id,
        "timestamp": (NOW - timedelta(days=40) + timedelta(days=number)).isoformat(),
        "properties": properties,
    }


def numbers(rows: list[Json]) -> list[int]:
    return [int(str(row["uuid"])[-12:]) for row in rows]


def lines(text: str) -> list[Json]:
    return [json.loads(line) for line in text.split("\n")[:-1]]


async def answered(tenant: Tenant, **query: Any) -> httpx.Response:
    answer = await tenant.api.get("/events/export/", params=query)
    assert answer.status_code == 200, answer.text
    return answer


async def exported(tenant: Tenant, **query: Any) -> list[Json]:
    return lines((await answered(tenant, format="jsonl", **query)).text)


async def followed(tenant: Tenant, **query: Any) -> list[httpx.Response]:
    """Return all pages, by the links from one to the next."""
    pages = [await answered(tenant, **query)]
    while link := pages[-1].links.get("next"):
        parts = urlsplit(link["url"])
        path = parts.path.partition(f"/projects/{tenant.project_id}")[2]
        pages.append(await tenant.api.get(f"{path}?{parts.query}"))
        assert pages[-1].status_code == 200, pages[-1].text
    return pages


@pytest.fixture
async def five(tenant: Tenant) -> Tenant:
    await tenant.capture(
        item(1, plan="free"),
        item(2, "paid", nested={"a": [1, "zwei\nlines", None]}),
        item(3, distinct_id="bob"),
        item(4, "paid", "bob"),
        item(5, HARD, HARD, text=HARD),
    )
    return tenant


async def test_a_file_has_the_rows_of_the_list_in_each_format(five: Tenant, tmp_path: Path) -> None:
    listed = {each["id"]: each for each in (await five.get("/events/"))["results"]}
    person = await five.person("bob")

    rows = await exported(five)
    as_csv = await answered(five)
    table = list(csv.DictReader(io.StringIO(as_csv.text)))
    parquet = await answered(five, format="parquet")

    assert numbers(rows) == [1, 2, 3, 4, 5]
    assert list(rows[0]) == COLUMNS == list(table[0])
    for row in rows:
        for name in ("event", "distinct_id", "properties"):
            assert row[name] == listed[row["uuid"]][name]
    assert rows[0]["timestamp"] == "2024-01-22T12:00:00.000000Z"
    assert rows[2]["person_id"] == person["uuid"]
    assert [json.loads(row["properties"]) for row in table] == [row["properties"] for row in rows]
    assert [row["event"] for row in table] == ["seen", "paid", "seen", "paid", f"'{HARD}"]
    file = tmp_path / "events.parquet"
    file.write_bytes(parquet.content)
    read = duckdb.read_parquet(str(file))
    assert read.columns == COLUMNS
    found = read.select("uuid, event, epoch_us(timestamp), properties").fetchall()
    assert [row[0] for row in found] == [row["uuid"] for row in rows]
    assert found[0][2] == 1_705_924_800_000_000
    assert (found[4][1], json.loads(found[4][3])) == (HARD, rows[4]["properties"])
    assert as_csv.headers["content-type"].startswith("text/csv")
    assert as_csv.headers["content-disposition"] == 'attachment; filename="events.csv"'


async def test_a_range_an_event_and_conditions_select(five: Tenant) -> None:
    second, fourth = "2024-01-23T12:00:00Z", "2024-01-25T12:00:00Z"
    plan = '[{"key": "plan", "value": "free", "type": "event"}]'

    assert numbers(await exported(five, start_at=second, end_at=fourth)) == [2, 3]
    assert numbers(await exported(five, start_at=fourth)) == [4, 5]
    assert numbers(await exported(five, event="paid")) == [2, 4]
    assert numbers(await exported(five, properties=plan)) == [1]
    assert await exported(five, start_at="2025-01-01") == []


@pytest.mark.parametrize("file_format", ["jsonl", "csv", "parquet"])
async def test_links_lead_through_all_events_once(
    five: Tenant, tmp_path: Path, file_format: str
) -> None:
    pages = await followed(five, format=file_format, limit=2)

    assert [int(page.headers["x-fanion-rows"]) for page in pages] == [2, 2, 1]
    found = []
    for number, page in enumerate(pages):
        file = tmp_path / f"{number}.{file_format}"
        file.write_bytes(page.content)
        reads = {"jsonl": "read_json", "csv": "read_csv", "parquet": "read_parquet"}
        rows = duckdb.execute(f"SELECT uuid::text FROM {reads[file_format]}('{file}')").fetchall()
        found += [int(row[0][-12:]) for row in rows]
    assert found == [1, 2, 3, 4, 5]


async def test_an_export_without_events_is_a_whole_file(tenant: Tenant, tmp_path: Path) -> None:
    file = tmp_path / "events.parquet"
    file.write_bytes((await answered(tenant, format="parquet")).content)

    assert (await answered(tenant)).text == ",".join(COLUMNS) + "\n"
    assert (await answered(tenant, format="jsonl")).text == ""
    assert duckdb.read_parquet(str(file)).columns == COLUMNS
    assert duckdb.read_parquet(str(file)).fetchall() == []


async def test_events_belong_to_the_person_of_today(tenant: Tenant) -> None:
    await tenant.capture(item(1, distinct_id="anon"), item(2, distinct_id="ann"))
    merge = {**item(3), "event": "$identify", "properties": {"$anon_distinct_id": "anon"}}
    await tenant.capture(merge)
    person = await tenant.person("ann")

    assert {row["person_id"] for row in await exported(tenant)} == {person["uuid"]}


WRONG: dict[str, tuple[Json, str, str]] = {
    "a format": ({"format": "xml"}, "format", "csv, jsonl, parquet"),
    "no format": ({"format": ""}, "format", "csv, jsonl, parquet"),
    "no time": ({"by": ""}, "by", "created_at"),
    "a start": ({"start_at": "soon"}, "start_at", "valid date"),
    "an end before the start": ({"start_at": "-1d", "end_at": "-2d"}, "end_at", "after start_at"),
    "a cursor": ({"cursor": "Zm9v"}, "cursor", "next link"),
    "a cursor that is no text": ({"cursor": "ä"}, "cursor", "next link"),
    "conditions": ({"properties": "[1]"}, "properties", ""),
    "an unknown name": ({"until": "-1d"}, "until", "query parameter"),
}


@pytest.mark.parametrize("query, attr, detail", WRONG.values(), ids=list(WRONG))
async def test_what_cannot_be_read_is_named(
    tenant: Tenant, query: Json, attr: str, detail: str
) -> None:
    answer = await tenant.api.get("/events/export/", params=query)

    assert answer.status_code == 400
    assert answer.json()["attr"] == attr
    assert detail in answer.json()["detail"]


async def test_a_key_needs_the_scope_of_events(tenant: Tenant) -> None:
    key = await add_key(tenant.server.records, tenant.user_id, "phx_persons", ["person:read"])
    async with tenant.server.client(key) as client:
        answer = await client.get(f"/api/projects/{tenant.project_id}/events/export/")

    assert answer.status_code == 403
    assert "event:read" in answer.json()["detail"]
