"""Static cohorts of an insight's actors, made over HTTP."""

import json
from typing import Any
from uuid import uuid4

from tests.support.application import Json, Tenant
from tests.support.cohorts import cohort_members, create_cohort, retrieve_cohort


def event_of(distinct_id: str, at: str, name: str = "seen", **properties: Any) -> Json:
    """Return an event.

    Args:
        at: A time of 2024, as `02-28T10:00`.
    """
    return {
        "event": name,
        "distinct_id": distinct_id,
        "uuid": str(uuid4()),
        "timestamp": f"2024-{at}:00Z",
        "properties": properties,
    }


def event_series(*names: str, **more: Any) -> str:
    return json.dumps([{"id": name, "type": "events", **more} for name in names])


def event_condition(key: str, value: Any, **more: Any) -> Json:
    return {"key": key, "value": value, "operator": "exact", "type": "event", **more}


async def post_cohort(tenant: Tenant, body: Json, **query: str) -> Any:
    return await tenant.api.post("/cohorts/", params=query, json=body)


async def stored_cohort(tenant: Tenant, **query: str) -> Json:
    """Return the new cohort as the API returned it, once its members have been imported."""
    answer = await post_cohort(tenant, {"name": "Behind", "is_static": True}, **query)
    assert answer.status_code == 201, answer.text
    await tenant.server.calculated()
    cohort: Json = answer.json()
    return cohort


async def members_behind(tenant: Tenant, **query: str) -> list[str]:
    """Return the first distinct ids of the members of a new cohort."""
    cohort = await stored_cohort(tenant, **query)
    retrieved = await retrieve_cohort(tenant, cohort)
    assert (retrieved["errors_calculating"], retrieved["last_error_message"]) == (0, None)
    names = await cohort_members(tenant, cohort)
    assert retrieved["count"] == len(names)
    return names


async def members_of_trend(tenant: Tenant, **query: str) -> list[str]:
    return await members_behind(
        tenant, **{"insight": "TRENDS", "events": event_series("seen"), **query}
    )


async def members_of_query(tenant: Tenant, *leaves: Json) -> list[str]:
    query = {"kind": "ActorsQuery", "properties": list(leaves)}
    cohort = await create_cohort(tenant, name="Asked", is_static=True, query=query)
    await tenant.server.calculated()
    retrieved = await retrieve_cohort(tenant, cohort)
    names = await cohort_members(tenant, cohort)
    assert (retrieved["count"], retrieved["is_static"]) == (len(names), True)
    return names
