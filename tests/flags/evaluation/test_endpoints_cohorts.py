"""Flags with conditions on cohorts, evaluated over HTTP with data from the stores."""

from typing import Any

import pytest
from sqlalchemy import insert, select, update

from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.flags import flag_continuity
from fanion.db.schema.tables import person_distinct_ids
from fanion.projects.store import move_flag_version
from tests.support.application import Tenant
from tests.support.management import NOW

pytestmark = pytest.mark.every_engine

Json = dict[str, Any]
NEVER = 2**62


async def cohort(tenant: Tenant, criteria: Json | None = None, *members: str) -> int:
    """Store a cohort.

    Args:
        criteria: None for a static cohort with these members.
    """
    async with tenant.server.records.write() as connection:
        added = await connection.execute(
            insert(cohorts)
            .values(
                project_id=tenant.project_id,
                description="",
                groups=[],
                filters=None if criteria is None else {"properties": criteria},
                deleted=False,
                is_static=criteria is None,
                is_calculating=False,
                errors_calculating=0,
                version=1,
                requested=1,
                created_at=NOW,
            )
            .returning(cohorts.c.id)
        )
        cohort_id: int = added.scalar_one()
        for name in members:
            person = select(person_distinct_ids.c.person_id).where(
                person_distinct_ids.c.project_id == tenant.project_id,
                person_distinct_ids.c.distinct_id == name,
            )
            await connection.execute(
                insert(cohort_people).values(
                    cohort_id=cohort_id,
                    person_id=person.scalar_subquery(),
                    project_id=tenant.project_id,
                    added=1,
                    removed=NEVER,
                )
            )
        await connection.run_sync(move_flag_version, tenant.project_id)
    return cohort_id


async def flag_on(tenant: Tenant, cohort_id: int, **fields: Any) -> None:
    leaf = {"key": "id", "type": "cohort", "value": cohort_id, **fields}
    answer = await tenant.api.post(
        "/feature_flags/",
        json={"key": f"in-{cohort_id}", "filters": {"groups": [{"properties": [leaf]}]}},
    )
    assert answer.status_code == 201, answer.text


def prop(key: str, value: Any) -> Json:
    return {"key": key, "type": "person", "operator": "exact", "value": value}


def tree(*leaves: Json) -> Json:
    return {"type": "OR", "values": [{"type": "AND", "values": list(leaves)}]}


async def seen(tenant: Tenant, *persons: str, **properties: Any) -> None:
    await tenant.capture(
        *({"event": "$identify", "distinct_id": name, "$set": properties} for name in persons)
    )


async def test_a_cohort_on_properties_is_tested_live(tenant: Tenant) -> None:
    cohort_id = await cohort(tenant, tree(prop("plan", "pro")))
    await flag_on(tenant, cohort_id)
    await seen(tenant, "ann", plan="pro")

    key = f"in-{cohort_id}"
    assert (await tenant.decide("ann"))["featureFlags"] == {key: True}
    assert (await tenant.decide("bob"))["featureFlags"] == {key: False}
    sent = await tenant.decide("nobody", person_properties={"plan": "pro"})
    assert sent["featureFlags"] == {key: True}


async def test_a_static_cohort_counts_its_members(tenant: Tenant) -> None:
    await seen(tenant, "ann", "bob")
    cohort_id = await cohort(tenant, None, "ann")
    await flag_on(tenant, cohort_id)

    key = f"in-{cohort_id}"
    for name, expected in (("ann", True), ("bob", False), ("nobody", False)):
        assert (await tenant.decide(name))["featureFlags"] == {key: expected}


async def test_a_cohort_on_events_counts_who_it_last_counted(tenant: Tenant) -> None:
    await seen(tenant, "ann", "bob")
    paid = {
        "type": "behavioral",
        "key": "paid",
        "value": "performed_event",
        "event_type": "events",
        "time_value": 30,
        "time_interval": "day",
    }
    cohort_id = await cohort(tenant, tree(paid), "ann")
    await flag_on(tenant, cohort_id)

    key = f"in-{cohort_id}"
    assert (await tenant.decide("ann"))["featureFlags"] == {key: True}
    assert (await tenant.decide("bob"))["featureFlags"] == {key: False}


async def test_a_deleted_cohort_counts_no_person(tenant: Tenant) -> None:
    await seen(tenant, "ann")
    cohort_id = await cohort(tenant, None, "ann")
    await flag_on(tenant, cohort_id)
    async with tenant.server.records.write() as connection:
        await connection.execute(
            update(cohorts).where(cohorts.c.id == cohort_id).values(deleted=True)
        )
        await connection.run_sync(move_flag_version, tenant.project_id)
    await tenant.server.running.public.flags.flag_sets.catch_up()

    decided = await tenant.decide("ann")

    assert decided["featureFlags"] == {f"in-{cohort_id}": False}
    assert decided["errorsWhileComputingFlags"] is False


async def test_a_removed_person_takes_its_stored_identities_along(tenant: Tenant) -> None:
    await tenant.create_flag(
        key="beta-feature",
        filters={"groups": [{"rollout_percentage": 30}]},
        ensure_experience_continuity=True,
    )
    await seen(tenant, "ann")
    await tenant.decide("ann", **{"$anon_distinct_id": "example_id"})
    person = await tenant.person("ann")

    answer = await tenant.api.delete(f"/persons/{person['id']}/")

    assert answer.status_code < 300, answer.text
    rows = await tenant.server.records.fetch(
        select(flag_continuity).where(flag_continuity.c.project_id == tenant.project_id)
    )
    assert rows == []
