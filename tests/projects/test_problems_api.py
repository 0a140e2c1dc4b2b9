"""The failures in a project, from the tables of all automatic work."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Table, insert, update

from fanion.accept_log.port import Envelope
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.flags import scheduled_changes
from fanion.db.schema.tables import feature_flags
from fanion.db.schema.webhooks import webhook_deliveries, webhooks
from tests.support.application import Home, Json, open_home
from tests.support.management import NOW, add_key

pytestmark = pytest.mark.every_engine
UNREADABLE = b'[{"event": '


async def problems(home: Home) -> list[Json]:
    results: list[Json] = (await home.get("/problems/"))["results"]
    return results


async def put(home: Home, table: Table, **values: Any) -> int:
    async with home.site.records.write() as connection:
        added = await connection.execute(
            insert(table).values(project_id=home.project_id, **values).returning(table.c.id)
        )
        number: int = added.scalar_one()
        return number


async def add_webhook(home: Home) -> int:
    return await put(
        home,
        webhooks,
        url="https://hooks.example.com/in",
        secret="whsec_x",
        events=["cohort.created"],
        active=True,
        created_at=NOW,
        updated_at=NOW,
    )


async def add_delivery(home: Home, webhook_id: int, status: str, age: timedelta) -> None:
    await put(
        home,
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


async def made(home: Home, path: str, **body: Any) -> int:
    answer = await home.api.post(path, json=body)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def test_where_nothing_fails_there_are_none(home: Home) -> None:
    await made(home, "/feature_flags/", key="beta")

    assert await problems(home) == []


async def test_dead_letters_are_one_problem_with_their_number(home: Home) -> None:
    for _ in range(2):
        log, now = home.site.log, home.site.clock.now()
        await log.append(Envelope(home.project_id, now, "192.0.2.1", "curl/8", None, UNREADABLE))
        await home.site.ingested()

    [problem] = await problems(home)

    assert (problem["kind"], problem["item_id"], problem["count"]) == ("dead_letters", None, 2)
    assert problem["detail"].startswith("InvalidPayload: ")
    assert problem["at"] == NOW.isoformat().replace("+00:00", "Z")


async def test_a_flag_that_was_rolled_back_is_one_until_it_is_on_again(home: Home) -> None:
    flag_id = await made(home, "/feature_flags/", key="beta")
    off = update(feature_flags).where(feature_flags.c.id == flag_id)
    async with home.site.records.write() as connection:
        await connection.execute(off.values(active=False, performed_rollback=True))

    [problem] = await problems(home)
    async with home.site.records.write() as connection:
        await connection.execute(off.values(active=True))

    assert problem == {
        "kind": "rollback",
        "item_id": flag_id,
        "name": "beta",
        "count": 1,
        "detail": None,
        "at": None,
    }
    assert await problems(home) == []


async def test_scheduled_changes_that_failed_lately_are_listed(home: Home) -> None:
    flag_id = await made(home, "/feature_flags/", key="beta")
    for reason, age in ((None, 0), ("There is no condition set 2.", 1), ("Long ago.", 8)):
        await put(
            home,
            scheduled_changes,
            flag_id=flag_id,
            payload={"operation": "update_status", "value": True},
            steps=[],
            failure_reason=reason,
            created_at=NOW - timedelta(days=age),
        )

    [problem] = await problems(home)

    assert (problem["kind"], problem["item_id"]) == ("scheduled_change", flag_id)
    assert (problem["name"], problem["detail"]) == ("beta", "There is no condition set 2.")


async def test_deliveries_that_were_given_up_are_counted_by_webhook(home: Home) -> None:
    webhook_id = await add_webhook(home)
    for status, days in (("delivered", 0), ("failed", 1), ("failed", 2), ("failed", 8)):
        await add_delivery(home, webhook_id, status, timedelta(days=days))

    [problem] = await problems(home)

    assert (problem["kind"], problem["item_id"]) == ("webhook", webhook_id)
    assert problem["name"] == "https://hooks.example.com/in"
    assert (problem["count"], problem["detail"]) == (2, "It answered 500.")


async def test_a_cohort_whose_last_calculation_failed_is_listed(home: Home) -> None:
    cohort_id = await made(home, "/cohorts/", name="paying", is_static=True)
    async with home.site.records.write() as connection:
        await connection.execute(
            update(cohorts)
            .where(cohorts.c.id == cohort_id)
            .values(errors_calculating=3, last_error_message="It took too long.")
        )

    [problem] = await problems(home)

    assert (problem["kind"], problem["item_id"]) == ("cohort", cohort_id)
    assert (problem["name"], problem["count"]) == ("paying", 3)
    assert problem["detail"] == "It took too long."


async def test_problems_are_those_of_one_project(home: Home) -> None:
    await add_delivery(home, await add_webhook(home), "failed", timedelta())

    async with open_home(home.site, home.project_id + 9_000_003) as neighbour:
        assert await problems(neighbour) == []


async def test_a_key_needs_the_scope_of_activity(home: Home) -> None:
    path = f"/api/projects/{home.project_id}/problems/"
    suffix, records = uuid4().hex, home.site.records
    other = await add_key(records, home.user_id, f"phx_other{suffix}", ["feature_flag:write"])
    right = await add_key(records, home.user_id, f"phx_right{suffix}", ["activity_log:read"])

    async with home.site.client(other) as refused, home.site.client(right) as allowed:
        no, yes = await refused.get(path), await allowed.get(path)

    assert (no.status_code, no.json()["code"]) == (403, "permission_denied")
    assert yes.status_code == 200
