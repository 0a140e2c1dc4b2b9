"""The exports of persons and groups."""

import csv
import io
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import duckdb
import pytest

from tests.exports.test_events import HARD, lines
from tests.support.application import Json, Tenant
from tests.support.management import NOW

PATHS = ("/persons/export/", "/groups/export/")


@pytest.fixture
async def filled(tenant: Tenant) -> Tenant:
    def group(kind: str, key: str, **properties: Any) -> Json:
        named = {"$group_type": kind, "$group_key": key, "$group_set": properties}
        return {"event": "$groupidentify", "distinct_id": "ann", "properties": named}

    def person(distinct_id: str, **properties: Any) -> Json:
        return {"event": "seen", "distinct_id": distinct_id, "properties": {"$set": properties}}

    await tenant.capture(person("ann", plan="pro", text=HARD), person("bob"), person(HARD))
    await tenant.capture(group("company", "b", size=3), group("company", "a", text=HARD))
    await tenant.capture(group("team", HARD))
    await tenant.server.ingested()
    return tenant


async def pages_of(tenant: Tenant, path: str, **query: Any) -> list[bytes]:
    """Return all pages, by the links from one to the next."""
    answer = await tenant.api.get(path, params=query)
    assert answer.status_code == 200, answer.text
    pages = [answer.content]
    while link := answer.links.get("next"):
        parts = urlsplit(link["url"])
        path = parts.path.partition(f"/projects/{tenant.project_id}")[2]
        answer = await tenant.api.get(f"{path}?{parts.query}")
        assert answer.status_code == 200, answer.text
        pages.append(answer.content)
    return pages


async def rows_of(tenant: Tenant, path: str, **query: Any) -> list[Json]:
    pages = await pages_of(tenant, path, format="jsonl", **query)
    return lines(b"".join(pages).decode())


@pytest.mark.every_engine
async def test_rows_are_those_of_the_lists_however_they_are_paged(filled: Tenant) -> None:
    persons = (await filled.get("/persons/"))["results"]
    groups = [
        each
        for index in (0, 1)
        for each in (await filled.get("/groups/", group_type_index=index))["results"]
    ]

    exported = await rows_of(filled, "/persons/export/")
    of_types = await rows_of(filled, "/groups/export/")

    assert await rows_of(filled, "/persons/export/", limit=2) == exported
    assert await rows_of(filled, "/groups/export/", limit=1) == of_types
    by_uuid = {row["uuid"]: row for row in exported}
    assert len(by_uuid) == len(exported) == len(persons) == 3
    for person in persons:
        row = by_uuid[person["uuid"]]
        assert row["distinct_ids"] == person["distinct_ids"]
        assert row["properties"] == person["properties"]
    keys = [(row["group_type_index"], row["group_key"]) for row in of_types]
    assert keys == [(0, "a"), (0, "b"), (1, HARD)]
    listed = {(each["group_type_index"], each["group_key"]): each for each in groups}
    for row in of_types:
        assert (
            row["group_properties"]
            == listed[row["group_type_index"], row["group_key"]]["group_properties"]
        )


async def test_each_format_has_the_same_rows(filled: Tenant, tmp_path: Path) -> None:
    for path, key in zip(PATHS, ("uuid", "group_key"), strict=True):
        rows = await rows_of(filled, path)
        [text] = await pages_of(filled, path, format="csv")
        table = list(csv.DictReader(io.StringIO(text.decode())))
        file = tmp_path / "rows.parquet"
        file.write_bytes(b"".join(await pages_of(filled, path, format="parquet")))
        read = duckdb.execute(f"SELECT {key}, epoch_us(created_at) FROM '{file}'").fetchall()

        assert [list(row) for row in table] == [list(rows[0])] * 3
        assert [row[key].removeprefix("'") for row in table] == [row[key] for row in rows]
        assert [row[0] for row in read] == [row[key] for row in rows]
        assert read[0][1] == int(NOW.timestamp() * 1_000_000)
        properties = "properties" if key == "uuid" else "group_properties"
        assert [json.loads(row[properties]) for row in table] == [row[properties] for row in rows]


async def test_the_time_of_creation_and_the_type_select(filled: Tenant) -> None:
    later, now = "2024-03-01T12:00:01Z", NOW.isoformat()

    for path in PATHS:
        assert len(await rows_of(filled, path, start_at=now, end_at=later)) == 3
        assert await rows_of(filled, path, start_at=later) == []
        assert await rows_of(filled, path, end_at=now) == []
        assert await pages_of(filled, path, end_at=now, format="parquet")
    assert len(await rows_of(filled, "/groups/export/", group_type_index=0)) == 2
    for query in ({"cursor": "eA"}, {"format": "xml"}, {"group_type_index": 5}):
        answer = await filled.api.get("/groups/export/", params=query)
        assert (answer.status_code, answer.json()["attr"]) == (400, next(iter(query)))
