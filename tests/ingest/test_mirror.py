"""The event store's mirror gets everything committed, whenever a process ends in between."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import delete, func, select, update

from fanion.db.engine import Records
from fanion.db.schema.persons import mirror_outbox
from fanion.db.schema.tables import groups, person_distinct_ids, person_overrides, persons
from fanion.events.mirror_outbox_store import Unmirrored, note_unmirrored
from fanion.events.storage.store import EventStore
from fanion.ingest.mirror_worker import MirrorWorker
from tests.support.application import Json, Tenant
from tests.support.awaited import until_soon

PERSONS = """
  SELECT person_id, attributes.plan::String, version
    FROM persons FINAL
   WHERE project_id = {project_id:UInt64}
"""
OVERRIDES = """
  SELECT old_person, new_person
    FROM person_overrides FINAL
   WHERE project_id = {project_id:UInt64}
"""
GROUPS = """
  SELECT group_key, attributes.plan::String
    FROM groups FINAL
   WHERE project_id = {project_id:UInt64}
"""


async def mirror_of(events: EventStore, project_id: int, statement: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await events._reads.fetch(statement, {"project_id": project_id})]


async def newer_version(tenant: Tenant) -> int:
    return await tenant.server.running.ingestion.versions.draw()


async def note(records: Records, *changes: Unmirrored) -> None:
    async with records.write() as connection:
        await connection.run_sync(note_unmirrored, changes)


async def notes(records: Records, project_id: int) -> int:
    count = select(func.count()).where(mirror_outbox.c.project_id == project_id)
    [(number,)] = await records.fetch(count)
    return int(number)


async def change(records: Records, statement: Any) -> None:
    async with records.write() as connection:
        await connection.execute(statement)


async def send_what_is_left(records: Records, events: EventStore) -> None:
    worker = MirrorWorker(records, events)
    await worker.look()
    await worker.look()


def setting(distinct_id: str, **properties: Any) -> Json:
    return {"event": "seen", "distinct_id": distinct_id, "$set": properties}


@pytest.mark.every_engine
async def test_a_person_is_sent_as_it_is_by_now(tenant: Tenant, events: EventStore) -> None:
    records = tenant.server.running.public.records
    await tenant.capture(setting("ann", plan="free"))
    uuid = UUID((await tenant.person("ann"))["id"])
    noted, newer = await newer_version(tenant), await newer_version(tenant)
    values = {"properties": {"plan": "pro"}, "version": newer}
    await change(records, update(persons).where(persons.c.uuid == uuid).values(**values))
    await note(records, Unmirrored(noted, tenant.project_id, [uuid]))

    await send_what_is_left(records, events)

    assert await mirror_of(events, tenant.project_id, PERSONS) == [(uuid, "pro", newer)]
    assert await notes(records, tenant.project_id) == 0


@pytest.mark.every_engine
async def test_a_merged_person_is_sent_as_gone_with_its_override(
    tenant: Tenant, events: EventStore
) -> None:
    records = tenant.server.running.public.records
    await tenant.capture(setting("ann", plan="free"), setting("bob"))
    ann, bob = [UUID((await tenant.person(name))["id"]) for name in ("ann", "bob")]
    version = await newer_version(tenant)
    merged = {"project_id": tenant.project_id, "old_person": bob, "new_person": ann}
    numbers = select(persons.c.id).where(persons.c.uuid == bob)
    links = delete(person_distinct_ids).where(person_distinct_ids.c.person_id.in_(numbers))
    await change(records, links)
    await change(records, delete(persons).where(persons.c.uuid == bob))
    await change(records, person_overrides.insert().values(**merged, version=version))
    await note(records, Unmirrored(version, tenant.project_id, [bob]))

    await send_what_is_left(records, events)

    rows = await mirror_of(events, tenant.project_id, PERSONS)
    assert [person for person, *_ in rows] == [ann]
    assert await mirror_of(events, tenant.project_id, OVERRIDES) == [(bob, ann)]


@pytest.mark.every_engine
async def test_groups_are_sent(tenant: Tenant, events: EventStore) -> None:
    records = tenant.server.running.public.records
    described = {"$group_type": "company", "$group_key": "acme", "$group_set": {"plan": "pro"}}
    event = {"event": "$groupidentify", "distinct_id": "ann", "properties": described}
    await tenant.capture(event)
    version = await newer_version(tenant)
    values = {"properties": {"plan": "new"}, "version": version}
    await change(
        records, update(groups).where(groups.c.project_id == tenant.project_id).values(**values)
    )
    await note(records, Unmirrored(version, tenant.project_id, (), [(0, "acme")]))

    await send_what_is_left(records, events)

    assert await mirror_of(events, tenant.project_id, GROUPS) == [("acme", "new")]


async def test_a_note_is_left_to_its_process_at_first(tenant: Tenant, events: EventStore) -> None:
    records = tenant.server.running.public.records
    await note(records, Unmirrored(await newer_version(tenant), tenant.project_id, [UUID(int=1)]))

    await MirrorWorker(records, events).look()

    assert await notes(records, tenant.project_id) == 1


async def test_a_batch_leaves_no_note(tenant: Tenant) -> None:
    """A batch leaves no note, whether or not another batch follows."""
    records = tenant.server.running.public.records
    await tenant.capture(setting("ann", plan="free"))
    await tenant.capture(setting("ann", plan="pro"))

    async def are_gone() -> bool:
        return await notes(records, tenant.project_id) == 0

    await until_soon(are_gone, "notes of what is mirrored stay")


async def test_metrics_count_what_is_not_sent(tenant: Tenant) -> None:
    app_server = tenant.server
    before = await app_server.metric("fanion_changes_to_mirror")
    version = await newer_version(tenant)
    await note(
        app_server.running.public.records, Unmirrored(version, tenant.project_id, [UUID(int=7)])
    )

    assert await app_server.metric("fanion_changes_to_mirror") == before + 1
