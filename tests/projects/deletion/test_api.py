"""Projects that are deleted with everything in them."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import func, insert, select

from fanion.db.schema import tables
from fanion.db.schema.activity import event_copies
from fanion.db.schema.cohorts import cohort_imports
from fanion.db.schema.events import ingestion_counts, ingestion_ledger
from fanion.db.schema.exports import batch_export_runs
from fanion.db.schema.flags import waiting_identities
from fanion.db.schema.insights import (
    alert_checks,
    alert_mails,
    flag_evaluations,
    insight_results,
)
from fanion.db.schema.persons import (
    merge_authors,
    person_erasures,
    person_merges,
    person_splits,
    split_ids,
)
from fanion.db.schema.servers import query_cancellations
from fanion.db.schema.tables import (
    metadata,
    project_deletions,
)
from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.project_rows import OTHER_TABLES
from fanion.events.storage.schema import EVENT_TABLES
from fanion.events.storage.store import EventStore
from fanion.ingest.project_deletion_worker import UNDER_WAY
from fanion.projects.deletion.store import EMPTIED
from tests.support.application import Json, Tenant, error
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.experiments import PURCHASES
from tests.support.management import NOW, add_key
from tests.support.projects import another_project

MINUTE_S = UNDER_WAY.total_seconds() + 1

# Rows that expire by themselves, that the accept log deletes once they are ingested, and what
# remembers that the project was deleted.
LEFT = {
    *("projects", "project_deletions", "person_floors", "question_places"),
    *("accept_log", "accept_log_entries"),
}
# Deleted with the project itself, so that its keys are refused at once.
KEYS = {"former_project_tokens", "project_secret_keys", "former_secret_keys"}
OF_PROJECTS = [table for table in metadata.sorted_tables if "project_id" in table.c]


@pytest.fixture
async def shop(tenant: Tenant) -> AsyncIterator[Tenant]:
    """Yield a second project of the tenant's organization."""
    async with another_project(tenant) as shop:
        yield shop


async def posted(tenant: Tenant, path: str, **sent: Any) -> Json:
    answer = await tenant.api.post(path, json=sent)
    assert answer.status_code in {200, 201}, answer.text
    made: Json = answer.json()
    return made


async def fill(tenant: Tenant) -> None:
    """Store something of every kind that users see, and rows of jobs."""
    await tenant.capture(
        {"event": "bought", "distinct_id": "anon", "properties": {"$session_id": "s", "price": 3}},
        {"event": "$identify", "distinct_id": "ann", "properties": {"$anon_distinct_id": "anon"}},
        {"event": "bought", "distinct_id": "bob", "properties": {"$groups": {"company": "acme"}}},
        {
            "event": "$groupidentify",
            "distinct_id": "bob",
            "properties": {"$group_type": "company", "$group_key": "acme", "$group_set": {"a": 1}},
        },
        {"distinct_id": "nameless"},
    )
    flag = await posted(tenant, "/feature_flags/", key="beta")
    later = {"operation": "update_status", "value": False}
    path = f"/feature_flags/{flag['id']}/scheduled_changes/"
    await posted(tenant, path, scheduled_at="2024-03-02T00:00:00Z", payload=later)
    condition = {"key": "plan", "type": "person", "operator": "is_set", "value": "is_set"}
    criteria = {"properties": {"type": "AND", "values": [condition]}}
    await posted(tenant, "/cohorts/", name="All", filters=criteria)
    static = await posted(tenant, "/cohorts/", name="Some", is_static=True)
    ann = await tenant.person("ann")
    added = await tenant.api.patch(
        f"/cohorts/{static['id']}/add_persons_to_static_cohort/", json={"person_ids": [ann["id"]]}
    )
    assert added.status_code == 200, added.text
    insight = await posted(
        tenant,
        "/insights/",
        name="Sales",
        filters={"insight": "TRENDS", "events": [{"id": "bought"}]},
    )
    await posted(tenant, "/dashboards/", name="Board")
    alert = await posted(
        tenant,
        "/alerts/",
        name="Much",
        insight=insight["id"],
        condition="above",
        threshold=1,
    )
    await posted(tenant, "/annotations/", content="Released")
    is_pro = [{"key": "plan", "value": "pro"}]
    await posted(tenant, "/segments/", name="Pro", properties=is_pro)
    share = {"rollout_percentage": 10}
    await posted(tenant, "/actions/", name="Paid", steps=[{"event": "paid"}])
    price = (await tenant.get("/property_definitions/", search="price"))["results"][0]
    await tenant.api.patch(f"/property_definitions/{price['id']}/", json={"hidden": True})
    holdout = await posted(tenant, "/experiment_holdouts/", name="Some", filters=[share])
    saved = await posted(tenant, "/experiment_saved_metrics/", name="Sales", query=PURCHASES)
    await posted(
        tenant,
        "/experiments/",
        name="Button",
        feature_flag_key="button",
        holdout_id=holdout["id"],
        saved_metrics_ids=[{"id": saved["id"]}],
    )
    path = f"/feature_flags/{flag['id']}/"
    await tenant.api.patch(path, json={"filters": {"groups": [{"rollout_percentage": 0}]}})
    steps = [{"rollout_percentage": 50, "hold_minutes": 60}]
    await posted(tenant, f"{path}guarded_release/", steps=steps, metrics=[PURCHASES])
    await posted(
        tenant, "/webhooks/", url="https://hooks.example/x", events=["feature_flag.updated"]
    )
    export = await posted(tenant, "/batch_exports/", **BATCH_EXPORT)
    await posted(tenant, "/secret_key/")
    project_id = tenant.project_id
    rows: dict[Any, Json] = {
        cohort_imports: {"cohort_id": static["id"], "written_at": NOW},
        ingestion_ledger: {"minute": 1, "outcome": "stored", "items": 1},
        ingestion_counts: {"minute": 2, "outcome": "stored", "slot": 0, "items": 1},
        query_cancellations: {"id": uuid4(), "query_id": "q", "requested_at": NOW},
        insight_results: {"filters_hash": "h", "result": {}, "calculated_at": NOW},
        waiting_identities: {
            "distinct_id": "new",
            "hash_keys": {},
            "size_bytes": 2,
            "created_at": NOW,
        },
        flag_evaluations: {
            "flag_key": "beta",
            "day": NOW.date(),
            "value": "true",
            "evaluations": 1,
            "last_at": NOW,
        },
        event_copies: {
            "source": "elsewhere",
            "copied_upto": NOW,
            "is_finished": True,
            "updated_at": NOW,
        },
        person_erasures: {
            "persons": [],
            "distinct_ids": [],
            "version": 1,
            "with_events": False,
            "requested_at": NOW,
            "finished_at": NOW,
        },
        person_merges: {
            "created_at": NOW,
            "person": uuid4(),
            "distinct_ids": [],
            "distinct_ids_count": 0,
        },
        merge_authors: {"event_uuid": uuid4(), "created_at": NOW},
        person_splits: {"moves": {}, "version": 1},
        split_ids: {"person": uuid4(), "replaced_by": uuid4()},
        batch_export_runs: {
            "export_id": export["id"],
            "data_interval_start": NOW,
            "data_interval_end": NOW,
            "status": "Completed",
            "attempts": 1,
            "created_at": NOW,
            "last_updated_at": NOW,
        },
        alert_checks: {
            "alert_id": alert["id"],
            "checked_at": NOW,
            "state": "firing",
            "webhooks": 0,
            "mails": 1,
        },
        alert_mails: {
            "alert_id": alert["id"],
            "user_id": tenant.owner["id"],
            "subject": "Much",
            "body": "2",
            "created_at": NOW,
        },
        tables.dead_letters: {
            "log_id": 1,
            "received_at": NOW,
            "failed_at": NOW,
            "client_ip": "",
            "user_agent": "",
            "body": b"[]",
            "error": "no",
            "items": 1,
            "attempts": 1,
        },
    }
    async with tenant.server.records.write() as connection:
        for table, values in rows.items():
            await connection.execute(insert(table).values(project_id=project_id, **values))


async def row_counts(tenant: Tenant) -> dict[str, int]:
    """Return the number of rows of the project in each table of the records that has some."""
    counts = {}
    for table in OF_PROJECTS:
        of_project = table.c.project_id == tenant.project_id
        statement = select(func.count()).select_from(table).where(of_project)
        [(number,)] = await tenant.server.records.fetch(statement)
        if number:
            counts[table.name] = int(number)
    return counts


async def stored_counts(events: EventStore, tenant: Tenant) -> dict[str, int]:
    """Return the number of rows of the project in each table of the event store that has some."""
    counts = {}
    for table in (*EVENT_TABLES, *OTHER_TABLES):
        statement = f"SELECT count() FROM {table} WHERE project_id = {{project_id:UInt64}}"
        [(number,)] = await events._reads.fetch(statement, {"project_id": tenant.project_id})
        if number:
            counts[table] = int(number)
    return counts


async def finish(tenant: Tenant) -> None:
    """Let the worker do all that is to be done, also what waits for a minute."""
    worker = tenant.server.running.ingestion.project_deletion
    await worker.work_once()
    tenant.server.clock.move(seconds=MINUTE_S)
    await worker.work_once()


async def captured(tenant: Tenant) -> httpx.Response:
    body = {"api_key": tenant.token, "event": "late", "distinct_id": "late"}
    return await tenant.public.post("/capture/", json=body)


def test_every_table_of_a_project_is_emptied_or_left_for_a_reason() -> None:
    named = {table.name for table in EMPTIED} | KEYS | LEFT
    cascading = {
        table.name
        for table in OF_PROJECTS
        for key in table.foreign_keys
        if key.ondelete == "CASCADE" and key.column.table in EMPTIED
    }

    assert {table.name for table in OF_PROJECTS} - named - cascading == set()


@pytest.mark.every_engine
async def test_a_deleted_project_leaves_nothing_and_another_one_keeps_everything(
    tenant: Tenant, shop: Tenant, events: EventStore
) -> None:
    await fill(tenant)
    await fill(shop)
    kept, stored = await row_counts(tenant), await stored_counts(events, tenant)
    filled = await row_counts(shop)

    answer = await shop.api.delete("/")
    await finish(shop)

    assert answer.status_code == 202
    assert filled.keys() >= {table.name for table in EMPTIED} - {"mirror_outbox"}
    assert await row_counts(shop) == {"project_deletions": 1, "person_floors": 1}
    assert await stored_counts(events, shop) == {}
    left, after = await row_counts(tenant), await stored_counts(events, tenant)
    assert left.pop("activity_log") == kept.pop("activity_log") + 1
    assert (left, after) == (kept, stored)
    assert await tenant.person("ann")


@pytest.mark.every_engine
async def test_the_answer_and_the_activity_of_the_organization_count_what_went(
    tenant: Tenant, shop: Tenant
) -> None:
    await fill(shop)
    foreseen = (await shop.api.get("/contents/")).json()

    answer = (await shop.api.delete("/")).json()

    counts = {
        "events": 4,
        "persons": 2,
        "groups": 1,
        "feature_flags": 2,
        "cohorts": 2,
        "insights": 5,
        "dashboards": 3,
        "experiments": 1,
        "alerts": 1,
        "annotations": 1,
        "webhooks": 1,
        "batch_exports": 1,
        "dead_letters": 1,
    }
    assert foreseen == answer["deleted"]
    assert answer == {"id": shop.project_id, "name": "Shop", "deleted": foreseen}
    assert counts.items() <= foreseen.items()
    [entry] = (await tenant.get("/activity_log/", scope="Project", activity="deleted"))["results"]
    assert (entry["item_id"], entry["detail"]["name"]) == (str(shop.project_id), "Shop")
    recorded = {change["field"]: change["after"] for change in entry["detail"]["changes"]}
    assert recorded == {kind: number for kind, number in foreseen.items() if number}


@pytest.mark.every_engine
async def test_a_deleted_project_is_not_found_and_its_keys_are_refused_at_once(
    tenant: Tenant, shop: Tenant
) -> None:
    key = (await posted(shop, "/secret_key/"))["secret_api_key"]
    async with shop.server.client(key) as local:
        path = f"/api/projects/{shop.project_id}/feature_flags/local_evaluation/"
        before = (await local.get(path)).status_code
        assert (await captured(shop)).status_code == 200

        await shop.api.delete("/")

        refused = await local.get(path)
    late, flags = (
        await captured(shop),
        await shop.public.post("/decide", json={"api_key": shop.token, "distinct_id": "ann"}),
    )
    again = await shop.api.delete("/")
    listed = (await tenant.server.client(tenant.key).get("/api/projects/")).json()["results"]
    assert (before, refused.status_code) == (200, 401)
    assert (late.status_code, flags.status_code) == (401, 401)
    assert (again.status_code, again.json()) == (
        404,
        error("invalid_request", "not_found", "Project not found."),
    )
    assert [project["id"] for project in listed] == [tenant.project_id]


@pytest.mark.every_engine
async def test_the_only_project_of_an_organization_is_not_deleted(tenant: Tenant) -> None:
    await tenant.capture({"event": "seen", "distinct_id": "ann"})

    answer = await tenant.api.delete("/")

    assert answer.status_code == 400
    assert answer.json() == error(
        "validation_error",
        "last_project",
        "This is the only project of its organization. Create another one before you delete it.",
    )
    assert (await captured(tenant)).status_code == 200


@pytest.mark.every_engine
async def test_who_worked_in_a_deleted_project_works_in_another_one(
    tenant: Tenant, shop: Tenant
) -> None:
    await tenant.api.delete("/")

    me = (await tenant.server.client(tenant.key).get("/api/users/@me/")).json()
    current = await tenant.server.client(tenant.key).get("/api/projects/@current/")

    assert me["id"] == tenant.user_id
    assert current.json()["id"] == shop.project_id


@pytest.mark.every_engine
async def test_what_waited_in_the_log_is_not_stored(
    tenant: Tenant, shop: Tenant, events: EventStore
) -> None:
    """The event store is down, so that ingestion stands still at the moment of the deletion."""
    shop.server.events.is_down = True
    body = {"api_key": shop.token, "batch": [{"event": "seen", "distinct_id": "ann"}]}
    await shop.public.post("/batch/", json=body)
    shop.server.events.is_down = False
    await shop.api.delete("/")
    await shop.server.ingested()

    await finish(shop)

    assert await stored_counts(events, shop) == {}
    assert await row_counts(shop) == {"project_deletions": 1, "person_floors": 1}


async def test_an_event_that_comes_after_the_end_of_a_deletion_is_left_out(
    shop: Tenant, events: EventStore
) -> None:
    await shop.capture({"event": "seen", "distinct_id": "ann"})
    await shop.api.delete("/")
    await finish(shop)
    last = shop.server.log.last
    assert last is not None

    await shop.server.log.append(last)
    await shop.server.ingested()

    assert await stored_counts(events, shop) == {}
    assert await row_counts(shop) == {"project_deletions": 1, "person_floors": 1}


@pytest.mark.every_engine
async def test_a_deletion_that_is_interrupted_goes_on(shop: Tenant, events: EventStore) -> None:
    """The event store fails after the records are deleted, so that the worker begins again."""
    await fill(shop)
    await shop.api.delete("/")
    worker = shop.server.running.ingestion.project_deletion
    shop.server.events.is_down = True
    with pytest.raises(EventStoreUnavailable):
        await worker.work_once()
    shop.server.events.is_down = False
    remaining = await stored_counts(events, shop)

    await finish(shop)

    assert remaining.keys() >= {"events", "persons"}
    assert await stored_counts(events, shop) == {}


async def test_a_deletion_is_finished_when_nothing_can_be_under_way_any_more(
    shop: Tenant,
) -> None:
    await fill(shop)
    await shop.api.delete("/")
    worker = shop.server.running.ingestion.project_deletion
    of_shop = project_deletions.c.project_id == shop.project_id
    columns = select(project_deletions.c.swept_at, project_deletions.c.finished_at).where(of_shop)

    await worker.work_once()
    await worker.work_once()
    [early] = await shop.server.records.fetch(columns)
    late = {"id": uuid4(), "name": "late", "tags": [], "post_to_chat": False}
    async with shop.server.records.write() as connection:
        values = {"project_id": shop.project_id, **late}
        await connection.execute(insert(tables.event_definitions).values(**values))
    shop.server.clock.move(seconds=MINUTE_S)
    await worker.work_once()
    [finished] = await shop.server.records.fetch(columns)

    assert (early.swept_at, early.finished_at) == (NOW, None)
    assert finished.finished_at is not None
    assert await row_counts(shop) == {"project_deletions": 1, "person_floors": 1}


async def test_keys_need_the_scope_and_viewers_and_members_are_refused(shop: Tenant) -> None:
    suffix, records = uuid4().hex, shop.server.records
    reading = await add_key(records, shop.user_id, f"phx_r{suffix}", ["project:read"])

    async with shop.server.client(reading, f"/api/projects/{shop.project_id}") as api:
        counted, refused = await api.get("/contents/"), await api.delete("/")

    assert (counted.status_code, refused.status_code) == (200, 403)
    assert refused.json()["detail"] == "API key missing required scope 'project:write'"
