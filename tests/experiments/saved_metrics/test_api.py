"""Saved metrics over HTTP, and the experiments that have them."""

from typing import Any

import pytest

from tests.support.application import Json, Tenant
from tests.support.experiments import PURCHASES, create

pytestmark = pytest.mark.every_engine


async def save(tenant: Tenant, **fields: Any) -> Json:
    body = {"name": "Purchases", "query": PURCHASES, **fields}
    answer = await tenant.api.post("/experiment_saved_metrics/", json=body)
    assert answer.status_code == 201, answer.text
    made: Json = answer.json()
    return made


async def test_a_saved_metric_from_creation_to_deletion(tenant: Tenant) -> None:
    made = await save(tenant, tags=[" A ", "a"])
    place = f"/experiment_saved_metrics/{made['id']}/"

    changed = await tenant.api.patch(place, json={**made, "name": "Sales"})
    listed = await tenant.get("/experiment_saved_metrics/")
    removed = await tenant.api.delete(place)
    gone = await tenant.api.get(place)

    assert made == {
        "id": made["id"],
        "name": "Purchases",
        "description": None,
        "query": PURCHASES,
        "tags": ["a"],
        "created_by": tenant.owner,
        "created_at": "2024-03-01T12:00:00Z",
        "updated_at": "2024-03-01T12:00:00Z",
    }
    assert changed.json() == {**made, "name": "Sales"}
    assert listed["results"] == [changed.json()]
    assert (removed.status_code, gone.status_code) == (204, 404)
    entries = (await tenant.get("/activity_log/", scope="ExperimentSavedMetric"))["results"]
    assert [entry["activity"] for entry in entries] == ["deleted", "updated", "created"]


async def test_an_unusable_metric_is_not_saved(tenant: Tenant) -> None:
    body = {"name": "Purchases", "query": {"kind": "TrendsQuery"}}

    answer = await tenant.api.post("/experiment_saved_metrics/", json=body)

    assert answer.status_code == 400
    assert answer.json()["attr"].startswith("query")


async def test_experiments_have_saved_metrics_until_they_are_deleted(tenant: Tenant) -> None:
    first, second = await save(tenant), await save(tenant, name="Other")
    made = await create(
        tenant,
        saved_metrics_ids=[
            {"id": first["id"], "metadata": {"type": "primary"}},
            {"id": second["id"], "metadata": {"type": "guardrail"}},
        ],
    )
    place = f"/experiments/{made['id']}/"

    await tenant.api.delete(f"/experiment_saved_metrics/{second['id']}/")
    left = await tenant.get(place)
    none = await tenant.api.patch(place, json={"saved_metrics_ids": []})

    assert [(link["name"], link["metadata"]) for link in made["saved_metrics"]] == [
        ("Purchases", {"type": "primary"}),
        ("Other", {"type": "guardrail"}),
    ]
    link = made["saved_metrics"][0]
    assert link == {
        "id": link["id"],
        "experiment": made["id"],
        "saved_metric": first["id"],
        "metadata": {"type": "primary"},
        "query": PURCHASES,
        "name": "Purchases",
        "created_at": "2024-03-01T12:00:00Z",
    }
    assert left["saved_metrics"] == made["saved_metrics"][:1]
    assert none.json()["saved_metrics"] == []
    entries = (await tenant.get(f"{place}activity/"))["results"]
    assert [entry["activity"] for entry in entries] == ["updated", "created"]
