"""The failures in a project, from the tables of all automatic work."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace
from sqlalchemy import Table, insert, update

from fanion.accept_log.port import Envelope
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.exports import batch_exports
from fanion.db.schema.flags import scheduled_changes
from fanion.db.schema.insights import alerts
from fanion.db.schema.tables import feature_flags
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from fanion.runtime.backup_state import BackupState, write_backup_state
from tests.support.application import Json, Tenant, open_tenant
from tests.support.batch_exports import BATCH_EXPORT
from tests.support.management import NOW, add_key

pytestmark = pytest.mark.every_engine
UNREADABLE = b'[{"event": '


async def problems(tenant: Tenant) -> list[Json]:
    results: list[Json] = (await tenant.get("/problems/"))["results"]
    return results


async def put(tenant: Tenant, table: Table, **values: Any) -> int:
    async with tenant.server.records.write() as connection:
        added = await connection.execute(
            insert(table).values(project_id=tenant.project_id, **values).returning(table.c.id)
        )
        number: int = added.scalar_one()
        return number


async def add_webhook(tenant: Tenant) -> int:
    return await put(
        tenant,
        webhooks,
        url="https://hooks.example.com/in/T0S3CRET?token=s3cret",
        secret="whsec_x",
        events=["cohort.created"],
        active=True,
        created_at=NOW,
        updated_at=NOW,
    )


async def add_delivery(tenant: Tenant, webhook_id: int, status: str, age: timedelta) -> None:
    await put(
        tenant,
        webhook_deliveries,
        webhook_id=webhook_id,
        uuid=uuid4(),
        event="cohort.created",
        body=b"",
        status=status,
        attempts=8,
        response_code=500,
        error="It answered 500.",
        created_at=NOW - age,
        finished_at=NOW,
    )


async def made(tenant: Tenant, path: str, **body: Any) -> int:
    answer = await tenant.api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def test_where_nothing_fails_there_are_none(tenant: Tenant) -> None:
    await made(tenant, "/feature_flags/", key="beta")

    assert await problems(tenant) == []


async def test_dead_letters_are_one_problem_with_their_number(tenant: Tenant) -> None:
    for _ in range(2):
        log, now = tenant.server.log, tenant.server.clock.now()
        await log.append(Envelope(tenant.project_id, now, "192.0.2.1", "curl/8", None, UNREADABLE))
        await tenant.server.ingested()

    [problem] = await problems(tenant)

    assert (problem["kind"], problem["item_id"], problem["count"]) == ("dead_letters", None, 2)
    assert problem["detail"].startswith("InvalidPayload: ")
    assert problem["at"] == NOW.isoformat().replace("+00:00", "Z")


async def test_a_backup_that_failed_is_a_problem_of_each_project_without_names(
    tenant: Tenant,
) -> None:
    folder = tenant.server.running.public.context.settings.data
    failed = BackupState(
        destination="/mnt/secret", started_at=NOW, has_ended=True, error="/mnt/secret is full"
    )
    write_backup_state(folder, failed)

    found = await problems(tenant)
    write_backup_state(folder, replace(failed, error="", succeeded_at=NOW))

    assert found == [
        {
            "kind": "backup",
            "item_id": None,
            "name": "",
            "count": 1,
            "detail": None,
            "alert_id": None,
            "value": None,
            "at": NOW.isoformat().replace("+00:00", "Z"),
        }
    ]
    assert await problems(tenant) == []
    assert await tenant.server.metric("fanion_backup_failed") == 0
    assert await tenant.server.metric("fanion_backup_success_timestamp_seconds") == NOW.timestamp()


async def test_a_flag_that_was_rolled_back_is_one_until_it_is_on_again(tenant: Tenant) -> None:
    flag_id = await made(tenant, "/feature_flags/", key="beta")
    off = update(feature_flags).where(feature_flags.c.id == flag_id)
    async with tenant.server.records.write() as connection:
        await connection.execute(off.values(active=False, performed_rollback=True))

    [problem] = await problems(tenant)
    async with tenant.server.records.write() as connection:
        await connection.execute(off.values(active=True))

    assert problem == {
        "kind": "rollback",
        "item_id": flag_id,
        "name": "beta",
        "count": 1,
        "detail": None,
        "alert_id": None,
        "value": None,
        "at": None,
    }
    assert await problems(tenant) == []


async def test_scheduled_changes_that_failed_lately_are_listed(tenant: Tenant) -> None:
    flag_id = await made(tenant, "/feature_flags/", key="beta")
    for reason, age in ((None, 0), ("There is no condition set 2.", 1), ("Long ago.", 8)):
        await put(
            tenant,
            scheduled_changes,
            flag_id=flag_id,
            payload={"operation": "update_status", "value": True},
            steps=[],
            failure_reason=reason,
            created_at=NOW - timedelta(days=age),
        )

    [problem] = await problems(tenant)

    assert (problem["kind"], problem["item_id"]) == ("scheduled_change", flag_id)
    assert (problem["name"], problem["detail"]) == ("beta", "There is no condition set 2.")


async def test_deliveries_that_were_given_up_are_counted_by_webhook(tenant: Tenant) -> None:
    webhook_id = await add_webhook(tenant)
    for status, days in (("delivered", 0), ("failed", 1), ("failed", 2), ("failed", 8)):
        await add_delivery(tenant, webhook_id, status, timedelta(days=days))

    [problem] = await problems(tenant)

    assert (problem["kind"], problem["item_id"]) == ("webhook", webhook_id)
    assert (problem["count"], problem["detail"]) == (2, "It answered 500.")


async def test_a_webhook_is_named_without_its_path_as_in_the_activity_log(tenant: Tenant) -> None:
    url = "https://hooks.example.com:8443/in/T0S3CRET?token=s3cret"
    webhook_id = await made(tenant, "/webhooks/", url=url)
    await add_delivery(tenant, webhook_id, "failed", timedelta())

    [problem] = await problems(tenant)
    [entry] = (await tenant.get("/activity_log/?scope=Webhook"))["results"]

    assert problem["name"] == entry["detail"]["name"] == "https://hooks.example.com:8443"


async def test_a_cohort_whose_last_calculation_failed_is_listed(tenant: Tenant) -> None:
    cohort_id = await made(tenant, "/cohorts/", name="paying", is_static=True)
    async with tenant.server.records.write() as connection:
        await connection.execute(
            update(cohorts)
            .where(cohorts.c.id == cohort_id)
            .values(errors_calculating=3, last_error_message="It took too long.")
        )

    [problem] = await problems(tenant)

    assert (problem["kind"], problem["item_id"]) == ("cohort", cohort_id)
    assert (problem["name"], problem["count"]) == ("paying", 3)
    assert problem["detail"] == "It took too long."


async def test_alerts_that_fire_or_cannot_be_checked_are_told(tenant: Tenant) -> None:
    question = {"insight": "TRENDS", "events": [{"id": "seen"}]}
    insight = (await tenant.api.post("/insights/", json={"filters": question})).json()["id"]
    kept = {"series_index": 0, "condition": "above", "threshold": 1, "due_at": NOW}
    times = {"last_checked_at": NOW, "created_at": NOW, "updated_at": NOW}
    alert: Json = {"insight_id": insight, "enabled": True, **kept, **times}
    await put(tenant, alerts, **alert, name="calm", state="not_firing", value=1)
    await put(tenant, alerts, **{**alert, "enabled": False}, name="off", state="firing", value=1)
    broken = await put(tenant, alerts, **alert, name="broken", state="errored", error="No one.")
    high = await put(tenant, alerts, **alert, name="high", state="firing", value=7)

    found = await problems(tenant)
    await tenant.api.patch(f"/insights/{insight}/", json={"deleted": True})

    assert found == [
        {
            "kind": "alert",
            "item_id": insight,
            "name": name,
            "count": 1,
            "detail": detail,
            "alert_id": alert_id,
            "value": value,
            "at": "2024-03-01T12:00:00Z",
        }
        for alert_id, name, detail, value in (
            (high, "high", None, 7.0),
            (broken, "broken", "No one.", None),
        )
    ]
    assert await problems(tenant) == []


async def test_a_batch_export_that_cannot_be_written_is_named_without_its_error(
    tenant: Tenant,
) -> None:
    export_id = await made(tenant, "/batch_exports/", **BATCH_EXPORT)
    this = update(batch_exports).where(batch_exports.c.id == export_id)
    async with tenant.server.records.write() as connection:
        await connection.execute(this.values(latest_error="bucket: it answers 403"))
    paused = await problems(tenant)
    async with tenant.server.records.write() as connection:
        await connection.execute(this.values(paused=False, due_at=NOW + timedelta(days=9)))

    [found] = await problems(tenant)
    await tenant.api.delete(f"/batch_exports/{export_id}/")

    assert paused == []
    assert (found["kind"], found["name"], found["detail"]) == ("batch_export", "Warehouse", None)


async def test_problems_are_those_of_one_project(tenant: Tenant) -> None:
    await add_delivery(tenant, await add_webhook(tenant), "failed", timedelta())

    async with open_tenant(tenant.server, tenant.project_id + 9_000_003) as neighbour:
        assert await problems(neighbour) == []


async def test_a_key_needs_the_scope_of_activity(tenant: Tenant) -> None:
    path = f"/api/projects/{tenant.project_id}/problems/"
    suffix, records = uuid4().hex, tenant.server.records
    other = await add_key(records, tenant.user_id, f"phx_other{suffix}", ["feature_flag:write"])
    right = await add_key(records, tenant.user_id, f"phx_right{suffix}", ["activity_log:read"])

    async with tenant.server.client(other) as refused, tenant.server.client(right) as allowed:
        no, yes = await refused.get(path), await allowed.get(path)

    assert (no.status_code, no.json()["code"]) == (403, "permission_denied")
    assert yes.status_code == 200
