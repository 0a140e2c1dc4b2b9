"""Search for stored definitions that the current validation would refuse, for `fanion doctor`.

It covers flags, cohorts, insights and dashboards of all projects. They still work.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Row, Select, Table, select

from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.store import CRITERIA
from fanion.cohorts.validation import check_created, require_cohorts
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.insights import dashboards, insights
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid
from fanion.flags.definitions.rollback_conditions import check_conditions
from fanion.flags.definitions.validation.filters import check_filters
from fanion.flags.engine.definition import FlagRow, grouped_filters
from fanion.insights.kinds.validation import (
    check_dashboard_filters,
    check_insight_filters,
    check_query,
)

_flag, _cohort = feature_flags.c, cohorts.c

Check = Callable[[Row[Any]], None]


@dataclass(frozen=True, slots=True)
class InvalidRow:
    """A stored definition that the current validation would refuse.

    Attributes:
        why: The first error, with the place in the definition.
    """

    project_id: int
    name: str
    why: str


async def find_invalid_flags(records: Records) -> Sequence[InvalidRow]:
    """Return the invalid flags of all projects. Deleted flags are not checked."""
    statement = (
        select(_flag.project_id, _flag.key, _flag.filters, _flag.rollback_conditions)
        .where(_flag.deleted.is_(False))
        .order_by(_flag.project_id, _flag.id)
    )
    return await _find_invalid(records, statement, lambda row: str(row.key), _check_flag)


async def find_invalid_cohorts(records: Records) -> Sequence[InvalidRow]:
    """Return the invalid cohorts of all projects.

    Deleted and static cohorts are not checked, because their criteria are unused.
    """
    known: dict[int, set[int]] = {}
    async with records.read() as connection:
        for row in await connection.execute(select(_cohort.project_id, _cohort.id)):
            known.setdefault(row.project_id, set()).add(row.id)
    statement = (
        select(_cohort.project_id, *CRITERIA)
        .where(_cohort.deleted.is_(False), _cohort.is_static.is_(False))
        .order_by(_cohort.project_id, _cohort.id)
    )
    check = partial(_check_cohort, known)
    return await _find_invalid(
        records, statement, lambda row: f"{row.id} ({row.name or ''})", check
    )


async def find_invalid_insights(records: Records) -> Sequence[InvalidRow]:
    """Return the invalid insights of all projects, then the invalid dashboards.

    Deleted ones are not checked.
    """
    return [
        *await _find_filters(records, insights, "insight", _check_insight),
        *await _find_filters(records, dashboards, "dashboard", _check_dashboard),
    ]


async def _find_filters(
    records: Records, table: Table, what: str, check: Check
) -> Sequence[InvalidRow]:
    columns = table.c
    statement = (
        select(table).where(columns.deleted.is_(False)).order_by(columns.project_id, columns.id)
    )
    return await _find_invalid(records, statement, lambda row: f"{what} {row.id}", check)


def _check_insight(row: Row[Any]) -> None:
    if row.query:
        check_query(row.query)
    else:
        check_insight_filters(row.filters or {})


def _check_dashboard(row: Row[Any]) -> None:
    check_dashboard_filters(row.filters or {})


async def _find_invalid(
    records: Records, statement: Select[Any], name: Callable[[Row[Any]], str], check: Check
) -> Sequence[InvalidRow]:
    """Return the rows that a check refuses.

    Args:
        check: Raises Invalid for a row that is invalid.
    """
    invalid: list[InvalidRow] = []
    async with records.read() as connection:
        for row in await connection.execute(statement):
            try:
                check(row)
            except Invalid as error:
                why = f"{error.attr}: {error.detail}" if error.attr else error.detail
                invalid.append(InvalidRow(row.project_id, name(row), why))
    return invalid


def _check_flag(row: Row[Any]) -> None:
    # The key is not checked: an import accepts every key of the source.
    filters = grouped_filters(FlagRow(0, row.key, row.filters))
    check_filters(filters, creating=False, plain_payloads=True)
    check_conditions(row.rollback_conditions, None)


def _check_cohort(known: Mapping[int, set[int]], row: Row[Any]) -> None:
    """Check a cohort's criteria, and that the cohorts they refer to exist.

    Args:
        known: The ids of the cohorts of each project.
    """
    columns: Sequence[Any] = row[1:]
    criteria = Criteria(*columns)
    sent = {"filters": criteria.filters or None, "groups": list(criteria.groups)}
    check_created(sent, with_file=False)
    require_cohorts(criteria.nested_ids(), known[row.project_id])
