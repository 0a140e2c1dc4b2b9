"""The mirror of groups in the event store: by ingestion, and of groups stored before."""

from typing import Any, cast

import pytest
from sqlalchemy import insert, update

from fanion.db.engine import Records
from fanion.db.schema.tables import groups
from fanion.events.event import GroupRow
from fanion.events.storage.store import EventStore
from fanion.groups.mirror_worker import KEYS_MAX, GroupMirror
from tests.support.application import Tenant
from tests.support.events_engine import next_project
from tests.support.management import NOW

MIRRORED = """
  SELECT group_type_index, group_key, version, created_at, properties, toString(attributes.name)
    FROM groups FINAL
   WHERE project_id = {project_id:UInt64}
ORDER BY group_type_index, group_key
"""


async def mirrored(events: EventStore, project_id: int) -> list[tuple[Any, ...]]:
    answer = await events.ask(MIRRORED, {"project_id": project_id})
    return list(zip(*answer.columns, strict=True))


async def put(records: Records, project_id: int, *keys: str, index: int = 0) -> None:
    rows = [
        {
            "project_id": project_id,
            "group_type_index": index,
            "group_key": key,
            "properties": {"name": f"Ü {key}"},
            "created_at": NOW,
            "version": 3,
        }
        for key in keys
    ]
    async with records.write() as connection:
        await connection.execute(insert(groups), rows)


@pytest.mark.every_engine
async def test_groups_stored_before_the_mirror_are_sent_once(
    records: Records, events: EventStore
) -> None:
    project, other = next_project(), next_project()
    await put(records, project, "acme", "b\tc")
    await put(records, project, "red", index=4)
    await put(records, other, *(f"g{n:05}" for n in range(KEYS_MAX + 2)))
    mirror = GroupMirror(records, events, lambda: True)

    sent = [await mirror.complete(), await mirror.complete()]

    assert sent == [KEYS_MAX + 5, 0]
    assert await mirrored(events, project) == [
        (0, "acme", 3, NOW, '{"name":"Ü acme"}', "Ü acme"),
        (0, "b\tc", 3, NOW, '{"name":"Ü b\\tc"}', "Ü b\tc"),
        (4, "red", 3, NOW, '{"name":"Ü red"}', "Ü red"),
    ]
    assert len(await mirrored(events, other)) == KEYS_MAX + 2


async def test_only_what_the_mirror_lacks_is_sent(records: Records, events: EventStore) -> None:
    project_id = next_project()
    await put(records, project_id, "changed", "missing", "newer", "same")
    for key, version in (("changed", 2), ("newer", 4), ("same", 3)):
        await events.mirror_groups(
            [GroupRow(project_id, 0, key, b'{"name":"there"}', NOW, version)]
        )

    sent = await GroupMirror(records, events, lambda: True).complete()

    assert sent == 2
    assert {key: name for _, key, *_, name in await mirrored(events, project_id)} == {
        "changed": "Ü changed",
        "missing": "Ü missing",
        "newer": "there",
        "same": "there",
    }


async def test_a_server_that_does_not_ingest_sends_nothing(
    records: Records, events: EventStore
) -> None:
    project_id, is_ingesting = next_project(), False
    await put(records, project_id, "acme")
    mirror = GroupMirror(records, events, lambda: is_ingesting)

    await mirror._complete_and_log()
    assert await mirrored(events, project_id) == []
    is_ingesting = True
    await mirror._complete_and_log()
    assert len(await mirrored(events, project_id)) == 1


def identify(key: str, **properties: Any) -> dict[str, Any]:
    event_properties = {"$group_type": "company", "$group_key": key, "$group_set": properties}
    return {"event": "$groupidentify", "distinct_id": "d", "properties": event_properties}


async def test_what_ingestion_changes_is_mirrored_as_it_is_stored(tenant: Tenant) -> None:
    await tenant.capture(identify("acme", name="a", seats=5), identify("corp"))
    await tenant.capture(identify("acme", name="b"))
    app_server = tenant.server

    mirrored_rows = await mirrored(cast(EventStore, app_server.events), tenant.project_id)
    async with app_server.records.read() as connection:
        rows = await connection.execute(
            groups.select().where(groups.c.project_id == tenant.project_id)
        )
        stored = {row.group_key: row.version for row in rows}

    assert [(key, text) for _, key, _, _, text, _ in mirrored_rows] == [
        ("acme", '{"name":"b","seats":5}'),
        ("corp", "{}"),
    ]
    assert {key: version for _, key, version, *_ in mirrored_rows} == stored
    assert (
        await GroupMirror(
            app_server.records, cast(EventStore, app_server.events), lambda: True
        ).complete()
        == 0
    )


async def test_a_group_that_an_older_program_changed_is_sent_again(
    records: Records, events: EventStore
) -> None:
    project_id = next_project()
    await put(records, project_id, "acme")
    mirror = GroupMirror(records, events, lambda: True)
    await mirror.complete()
    changed = update(groups).where(groups.c.project_id == project_id)
    async with records.write() as connection:
        await connection.execute(changed.values(properties={"name": "new"}, version=4))

    assert await mirror.complete() == 1
    assert [row[-1] for row in await mirrored(events, project_id)] == ["new"]
