"""The doctor's report of stored objects that the current validation would refuse.

Older versions have stored such flags, cohorts, insights and dashboards.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Table, update

from fanion.cli.doctor.command import examine_installation
from fanion.cli.doctor.stores import Finding, definitions_finding
from fanion.cli.doctor.validation import (
    InvalidRow,
    find_invalid_cohorts,
    find_invalid_flags,
    find_invalid_insights,
)
from fanion.config import read_settings
from fanion.db.migrate import migrate as migrate_records
from fanion.db.schema.insights import dashboards, insights
from tests.support.application import Json, Tenant
from tests.support.cohorts import all_conditions, create_cohort, in_cohort
from tests.support.rich_project import NEVER_PAID

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.mark.every_engine
async def test_stored_flags_that_validation_refuses_are_found(tenant: Tenant) -> None:
    await tenant.create_flag(key="fine", filters={"groups": [{"rollout_percentage": 5}]})
    gone = await tenant.create_flag(key="gone")
    await tenant.store_flag(gone, deleted=True, filters={"groups": [{"rollout": 5}]})
    spaced = await tenant.create_flag(key="spaced")
    # As an import may store it.
    plain: Any = {"groups": [{"rollout_percentage": 5}], "payloads": {"true": "plain text"}}
    await tenant.store_flag(spaced, key="with space", filters=plain)
    misspelt = await tenant.create_flag(key="misspelt")
    await tenant.store_flag(misspelt, filters={"groups": [{"rollout": 5}]})
    less = await tenant.create_flag(key="less")
    await tenant.store_flag(less, rollback_conditions=[{**NEVER_PAID, "operator": "less"}])
    older = await tenant.create_flag(key="older")
    await tenant.store_flag(older, filters={}, rollout_percentage=5)

    invalid = await find_invalid_flags(tenant.server.records)

    mine = [(row.name, row.why) for row in invalid if row.project_id == tenant.project_id]
    assert mine == [
        (
            "misspelt",
            'filters__groups__0__rollout: Unknown field "rollout". Did you mean '
            '"rollout_percentage"?',
        ),
        (
            "less",
            'rollback_conditions__0__operator: "less" is not a valid choice. Allowed are: gt, lt.',
        ),
    ]


@pytest.mark.every_engine
async def test_stored_cohorts_that_validation_refuses_are_found(tenant: Tenant) -> None:
    leaf = {"type": "person", "key": "plan", "value": "pro", "operator": "exact"}
    fine = await create_cohort(tenant, name="fine", filters=all_conditions(leaf))
    await create_cohort(tenant, name="nested", filters=all_conditions(in_cohort(fine["id"])))
    await create_cohort(tenant, name="by groups", groups=[{"event_id": "seen"}])
    gone, less, unknown, older, static = [
        await create_cohort(tenant, name=name)
        for name in ("gone", "less", "unknown", "older", "static")
    ]
    odd = all_conditions({**leaf, "operator": "less"})
    await tenant.store_cohort(gone, deleted=True, filters=odd)
    await tenant.store_cohort(less, filters=odd)
    await tenant.store_cohort(unknown, filters=all_conditions(in_cohort(99_999_999)))
    await tenant.store_cohort(older, groups=[{"action_id": "Paid"}])
    await tenant.store_cohort(static, is_static=True, filters=odd)

    invalid = await find_invalid_cohorts(tenant.server.records)

    mine = [(row.name, row.why) for row in invalid if row.project_id == tenant.project_id]
    assert mine == [
        (
            f"{less['id']} (less)",
            'filters: Unknown operator "less" for type "person". No known name is similar.',
        ),
        (f"{unknown['id']} (unknown)", "Invalid Cohort ID in filter: 99999999"),
        (
            f"{older['id']} (older)",
            "groups: key must be the id of an action. (at groups[0].values[0])",
        ),
    ]


async def create_row(tenant: Tenant, path: str, table: Table, **columns: object) -> int:
    answer = await tenant.api.post(path, json={"name": "n"})
    assert answer.status_code == 201, answer.text
    row_id: int = answer.json()["id"]
    async with tenant.server.records.write() as connection:
        await connection.execute(update(table).where(table.c.id == row_id).values(**columns))
    return row_id


@pytest.mark.every_engine
async def test_stored_insights_that_validation_refuses_are_found(tenant: Tenant) -> None:
    old: Json = {"insight": "TRENDS", "display": "LineGraph"}
    misspelt = await create_row(tenant, "/insights/", insights, filters=old)
    await create_row(tenant, "/insights/", insights, filters={"insight": "FUNNELS"})
    await create_row(tenant, "/insights/", insights, filters=old, deleted=True)
    wide = await create_row(tenant, "/dashboards/", dashboards, filters={"interval": "week"})
    await create_row(tenant, "/dashboards/", dashboards, filters={"date_from": "-30d"})

    invalid = await find_invalid_insights(tenant.server.records)

    mine = [(row.name, row.why) for row in invalid if row.project_id == tenant.project_id]
    assert mine == [
        (
            f"insight {misspelt}",
            'display: "LineGraph" is not a valid choice. Did you mean "ActionsLineGraph"?',
        ),
        (
            f"dashboard {wide}",
            'filters__interval: "interval" is not supported. Set it in the filters of each '
            "insight.",
        ),
    ]


async def test_the_doctor_checks_flags_cohorts_and_insights(tmp_path: Path) -> None:
    gone = "clickhouse://127.0.0.1:9/none"  # the event store has nothing to do with it
    settings = read_settings({}, {"data": tmp_path, "events_url": gone})
    await migrate_records(settings.records_url)

    findings = await examine_installation(settings, NOW)

    for what in ("flags", "cohorts", "insights"):
        assert Finding(what, True, "all are valid") in findings


def test_the_doctor_lists_some_of_many() -> None:
    finding = definitions_finding(
        "flags", [InvalidRow(7, f"flag-{n}", "key: no") for n in range(22)]
    )

    assert finding.ok
    assert finding.text.startswith("project 7, flag-0: key: no; project 7, flag-1: key: no; ")
    assert finding.text.endswith("; and 2 more")
