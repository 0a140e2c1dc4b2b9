"""Cohorts in tests: conditions, events of persons, and requests to the API."""

from datetime import timedelta
from typing import Any

from tests.support.application import Json, Tenant
from tests.support.management import NOW

UNKNOWN = 99_999_999


def person_is(key: str, value: Any, **more: Any) -> Json:
    return {"type": "person", "key": key, "value": value, "operator": "exact", **more}


def performed(event: str | int, **more: Any) -> Json:
    return {
        "type": "behavioral",
        "key": event,
        "event_type": "events",
        "value": "performed_event",
        "time_value": 30,
        "time_interval": "day",
        **more,
    }


def in_cohort(cohort_id: int | str, **more: Any) -> Json:
    return {"type": "cohort", "key": "id", "value": cohort_id, **more}


def all_conditions(*leaves: Json) -> Json:
    return {"properties": {"type": "AND", "values": list(leaves)}}


def event(distinct_id: str, name: str = "seen", days_ago: float = 1, **properties: Any) -> Json:
    time = (NOW - timedelta(days=days_ago)).isoformat()
    return {"event": name, "distinct_id": distinct_id, "timestamp": time, "properties": properties}


def person(distinct_id: str, name: str = "seen", days_ago: float = 1, **properties: Any) -> Json:
    """Return an event that sets these properties of its person."""
    return {**event(distinct_id, name, days_ago), "$set": properties}


async def create_cohort(tenant: Tenant, **cohort: Any) -> Json:
    answer = await tenant.api.post("/cohorts/", json=cohort)
    assert answer.status_code == 201, answer.text
    created: Json = answer.json()
    return created


async def change_cohort(tenant: Tenant, cohort: Json, **fields: Any) -> Json:
    answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", json=fields)
    assert answer.status_code == 200, answer.text
    changed: Json = answer.json()
    return changed


async def retrieve_cohort(tenant: Tenant, cohort: Json) -> Json:
    retrieved: Json = await tenant.get(f"/cohorts/{cohort['id']}/")
    return retrieved


async def cohort_members(tenant: Tenant, cohort: Json, **query: Any) -> list[str]:
    """Return the first distinct id of each member, sorted."""
    page = await tenant.get(f"/cohorts/{cohort['id']}/persons/", **query)
    return sorted(person["distinct_ids"][0] for person in page["results"])


async def three_persons(tenant: Tenant) -> None:
    await tenant.capture(
        person("ann", plan="pro", email="Ann@corp.example"),
        person("bob", "opened", plan="free"),
        person("cid", "opened", 40, plan="pro"),
    )


ALONE = performed("x", negation=True)


async def upload_cohort(tenant: Tenant, text: str | bytes, cohort: Json | None = None) -> Json:
    raw = text.encode() if isinstance(text, str) else text
    files = {"csv": ("people.csv", raw, "text/csv")}
    if cohort is None:
        fields = {"name": "Hand-picked", "is_static": "true"}
        answer = await tenant.api.post("/cohorts/", data=fields, files=files)
        assert answer.status_code == 201, answer.text
    else:
        answer = await tenant.api.patch(f"/cohorts/{cohort['id']}/", files=files)
        assert answer.status_code == 200, answer.text
    uploaded: Json = answer.json()
    return uploaded


async def flag_on(tenant: Tenant, cohort: Json) -> str:
    key = f"flag-{cohort['id']}"
    groups = [{"properties": [in_cohort(cohort["id"])], "rollout_percentage": 100}]
    await tenant.create_flag(key=key, filters={"groups": groups})
    return key
