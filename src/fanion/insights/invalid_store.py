"""Finds stored insights and dashboards that the current validation refuses, for `fanion doctor`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, select

from fanion.db.engine import Records
from fanion.db.schema.insights import dashboards, insights
from fanion.errors import Invalid
from fanion.insights.validation import check_dashboard_filters, check_insight_filters

READ_ROWS = 500  # their filters have some 10 KB each at most

Check = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class InvalidFilters:
    """what: `insight` or `dashboard`; why: the first error, with its place"""

    project_id: int
    what: str
    id: int
    why: str


async def find_invalid_insights(records: Records) -> Sequence[InvalidFilters]:
    """Of every project; insights first, then dashboards. Deleted ones are not checked."""
    return [
        *await _refused(records, insights, "insight", check_insight_filters),
        *await _refused(records, dashboards, "dashboard", check_dashboard_filters),
    ]


async def _refused(
    records: Records, table: Table, what: str, check: Check
) -> Sequence[InvalidFilters]:
    columns = table.c
    statement = (
        select(columns.project_id, columns.id, columns.filters)
        .where(columns.deleted.is_(False))
        .order_by(columns.project_id, columns.id)
    )
    found: list[InvalidFilters] = []
    async with records.read() as connection:
        for part in (await connection.execute(statement)).partitions(READ_ROWS):
            for project_id, row_id, filters in part:
                why = _problem(filters or {}, check)
                if why is not None:
                    found.append(InvalidFilters(project_id, what, row_id, why))
    return found


def _problem(filters: Mapping[str, Any], check: Check) -> str | None:
    try:
        check(filters)
    except Invalid as error:
        return f"{error.attr}: {error.detail}" if error.attr else error.detail
    return None
