"""The history of the checks of alerts."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import asdict
from sqlalchemy import Connection, delete, func, insert, select

from fanion.db.engine import Records
from fanion.db.schema.insights import alert_checks
from fanion.insights.alerts.model import Alert, AlertCheck

CHECKS_KEPT: Final = 1_000  # of one alert, about ten days with a check every 15 minutes

_check = alert_checks.c
_COLUMNS = tuple(_check[name] for name in AlertCheck.__struct_fields__)


async def list_checks(
    records: Records, alert_id: int, limit: int, offset: int
) -> tuple[Sequence[AlertCheck], int]:
    """Return a page of an alert's checks, newest first, and the number of all."""
    of_alert = _check.alert_id == alert_id
    count = select(func.count()).select_from(alert_checks).where(of_alert)
    statement = (
        select(*_COLUMNS).where(of_alert).order_by(_check.id.desc()).limit(limit).offset(offset)
    )
    async with records.read() as connection:
        total = (await connection.execute(count)).scalar_one()
        rows = (await connection.execute(statement)).all()
    return [AlertCheck(**row._asdict()) for row in rows], total


def record_check(connection: Connection, alert: Alert, check: AlertCheck) -> None:
    """Store a check, and delete those that are older than the last CHECKS_KEPT."""
    connection.execute(
        insert(alert_checks).values(project_id=alert.project_id, alert_id=alert.id, **asdict(check))
    )
    of_alert = _check.alert_id == alert.id
    newest_left_out = (
        select(_check.id).where(of_alert).order_by(_check.id.desc()).offset(CHECKS_KEPT).limit(1)
    )
    old = delete(alert_checks).where(of_alert, _check.id <= newest_left_out.scalar_subquery())
    connection.execute(old)
