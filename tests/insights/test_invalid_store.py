"""Insights and dashboards that older versions have stored, and that the rules of today refuse."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Table, update

from fanion.cli.doctor import Finding, examine
from fanion.config import read_settings
from fanion.db.migrate import migrate as migrate_records
from fanion.db.schema.insights import dashboards, insights
from fanion.insights.invalid_store import find_invalid_insights
from tests.support.application import Home, Json

NOW = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


async def made(home: Home, path: str, table: Table, **columns: object) -> int:
    answer = await home.api.post(path, json={"name": "n"})
    assert answer.status_code == 201, answer.text
    made: int = answer.json()["id"]
    async with home.site.records.write() as connection:
        await connection.execute(update(table).where(table.c.id == made).values(**columns))
    return made


@pytest.mark.every_engine
async def test_stored_insights_that_the_rules_refuse_are_found(home: Home) -> None:
    old: Json = {"insight": "TRENDS", "display": "LineGraph"}
    misspelt = await made(home, "/insights/", insights, filters=old)
    await made(home, "/insights/", insights, filters={"insight": "FUNNELS"})
    await made(home, "/insights/", insights, filters=old, deleted=True)
    wide = await made(home, "/dashboards/", dashboards, filters={"properties": [{"key": "a"}]})
    await made(home, "/dashboards/", dashboards, filters={"date_from": "-30d"})

    found = await find_invalid_insights(home.site.records)

    mine = [(one.what, one.id, one.why) for one in found if one.project_id == home.project_id]
    assert mine == [
        (
            "insight",
            misspelt,
            'display: "LineGraph" is not a valid choice. Did you mean "ActionsLineGraph"?',
        ),
        (
            "dashboard",
            wide,
            'filters__properties: "properties" is not supported. Set it in the filters of each '
            "insight.",
        ),
    ]


async def test_the_doctor_looks_at_the_insights(tmp_path: Path) -> None:
    gone = "clickhouse://127.0.0.1:9/none"  # the event store has nothing to do with it
    settings = read_settings({}, {"data": tmp_path, "events_url": gone})
    await migrate_records(settings.records_url)

    findings = await examine(settings, NOW)

    assert Finding("insights", True, "all follow the rules") in findings
