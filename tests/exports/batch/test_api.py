"""Batch exports over HTTP: who may manage them, and what is refused."""

from typing import Any

import pytest

from fanion.exports.batch.model import INTERVALS_MAX
from fanion.exports.batch.store import BATCH_EXPORTS_MAX
from fanion.projects.model import Level
from tests.support.application import Json, Tenant
from tests.support.management import add_member

KEYS = {"aws_access_key_id": "AKIAEXAMPLE0123", "aws_secret_access_key": "verysecretkey/456"}
CONFIG: Json = {"bucket_name": "events", "region": "eu-central-1"}


def body(**sent: Any) -> Json:
    config = {**CONFIG, **KEYS, **sent.pop("config", {})}
    destination = {"type": "S3", "config": config}
    return {"name": "Warehouse", "interval": "day", "destination": destination, **sent}


async def made(tenant: Tenant, **sent: Any) -> Json:
    answer = await tenant.api.post("/batch_exports/", json=body(**sent))
    assert answer.status_code == 201, answer.text
    created: Json = answer.json()
    return created


@pytest.mark.every_engine
async def test_an_export_from_creation_to_deletion(tenant: Tenant) -> None:
    created = await made(tenant, paused=True)
    path = f"/batch_exports/{created['id']}/"

    changed = await tenant.api.patch(
        path, json={"destination": {"config": {"prefix": "/fanion/", **KEYS}}, "name": "Lake"}
    )
    resumed = await tenant.api.post(f"{path}unpause/", json={"backfill": True})
    backfilled = await tenant.api.post(f"{path}backfills/", json={"start_at": "2024-02-01"})
    paused = await tenant.api.post(f"{path}pause/")
    read = await tenant.get(path)
    runs = await tenant.get(f"{path}runs/")
    listed = await tenant.get("/batch_exports/")
    removed = await tenant.api.delete(path)

    assert created == {
        "id": created["id"],
        "name": "Warehouse",
        "interval": "day",
        "paused": True,
        "last_paused_at": "2024-03-01T12:00:00Z",
        "next_start": "2024-03-01T00:00:00Z",
        "latest_error": None,
        "created_at": "2024-03-01T12:00:00Z",
        "last_updated_at": "2024-03-01T12:00:00Z",
        "destination": {
            "type": "S3",
            "config": {**CONFIG, "prefix": "", "endpoint_url": None, "file_format": "JSONLines"},
        },
        "model": "events",
        "latest_runs": [],
    }
    assert changed.json()["destination"]["config"]["prefix"] == "fanion"
    assert (resumed.json(), paused.json()) == ({"paused": False}, {"paused": True})
    assert backfilled.json()["next_start"] == "2024-02-01T00:00:00Z"
    assert (runs["count"], listed["results"]) == (0, [read])
    assert (removed.status_code, (await tenant.api.get(path)).status_code) == (204, 404)
    texts = (created, changed.text, read, listed, await tenant.get("/activity_log/"))
    assert not any(key in str(text) for key in KEYS.values() for text in texts)


async def test_only_administrators_may_see_and_make_exports(tenant: Tenant) -> None:
    created = await made(tenant, paused=True)
    member = await add_member(
        tenant.server.records, "batch-m", Level.MEMBER, tenant.organization_id
    )
    async with tenant.server.client(member.key, f"/api/projects/{tenant.project_id}") as client:
        answers = [
            await client.get("/batch_exports/"),
            await client.post("/batch_exports/", json=body()),
            await client.get(f"/batch_exports/{created['id']}/runs/"),
        ]

    assert {answer.status_code for answer in answers} == {403}


REFUSED: list[tuple[Json, str, str]] = [
    ({"config": {"bucket_name": "Events"}}, "bucket_name", "a-z, 0-9"),
    ({"config": {"region": "eu central"}}, "region", "a-z, 0-9 and -"),
    ({"config": {"prefix": "{year}/events"}}, "prefix", "letters, digits"),
    ({"config": {"prefix": "a/../b"}}, "prefix", "no .. between"),
    ({"config": {"endpoint_url": "http://s3.example"}}, "endpoint_url", "begin with https://"),
    ({"config": {"endpoint_url": "https://10.0.0.1"}}, "endpoint_url", "to a private"),
    ({"config": {"endpoint_url": "https://[::1]:9000"}}, "endpoint_url", "to a loopback"),
    ({"config": {"endpoint_url": "https://a:b@s3.example"}}, "endpoint_url", "user name"),
    ({"config": {"endpoint_url": "https://s3.example/a"}}, "endpoint_url", "no path"),
    ({"config": {"file_format": "Avro"}}, "file_format", "not a valid choice"),
    ({"config": {"compression": "gzip"}}, "compression", "are compressed"),
    ({"config": {"bucket": "b"}}, "bucket", '"bucket_name"'),
    ({"config": {"aws_secret_access_key": ""}}, "aws_secret_access_key", "blank"),
]


@pytest.mark.parametrize(("sent", "attr", "detail"), REFUSED)
async def test_a_destination_that_cannot_be_used_is_refused(
    tenant: Tenant, sent: Json, attr: str, detail: str
) -> None:
    answer = await tenant.api.post("/batch_exports/", json=body(**sent))

    assert (answer.status_code, answer.json()["attr"]) == (400, f"destination__config__{attr}")
    assert detail in answer.json()["detail"], answer.text


async def test_times_and_places_that_cannot_be_used_are_refused(tenant: Tenant) -> None:
    created = await made(tenant, paused=True)
    path = f"/batch_exports/{created['id']}/"

    async def refused(method: str, where: str, sent: Json) -> tuple[str, str]:
        answer = await tenant.api.request(method, where, json=sent)
        assert answer.status_code == 400, answer.text
        return answer.json()["attr"], answer.json()["detail"]

    same, _ = await refused("POST", "/batch_exports/", body())
    future, _ = await refused("POST", "/batch_exports/", body(start_at="2024-03-01T12:00:01Z"))
    past, detail = await refused(
        "POST",
        "/batch_exports/",
        body(interval="hour", start_at="2018-06-15", config={"prefix": "p"}),
    )
    later, _ = await refused("POST", f"{path}backfills/", {"start_at": "2024-03-01"})
    interval, _ = await refused("PATCH", path, {"interval": "hour"})
    elsewhere = {"destination": {"config": {"endpoint_url": "https://other.example"}}}
    keys, _ = await refused("PATCH", path, elsewhere)

    assert same == "destination__config__prefix"
    assert (future, past, later, interval) == ("start_at", "start_at", "start_at", "interval")
    assert "2018-06-" in detail
    assert INTERVALS_MAX == 50_000
    assert keys == "destination__config__aws_secret_access_key"
    for number in range(BATCH_EXPORTS_MAX - 1):
        await made(tenant, paused=True, config={"prefix": f"p{number}"})
    answer = await tenant.api.post("/batch_exports/", json=body(config={"prefix": "more"}))
    assert answer.status_code == 400
    assert "at most 20 batch exports" in answer.json()["detail"]
