"""The names of the cohorts of a breakdown, in the records store."""

from collections.abc import Mapping

from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.insights.breakdowns import Breakdowns


async def cohort_names(
    records: Records, project_id: int, breakdowns: Breakdowns | None
) -> Mapping[int, str]:
    """Return the names of the project's own cohorts, by id.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    ids = breakdowns.cohorts if breakdowns is not None else ()
    if not ids:
        return {}
    statement = select(cohorts.c.id, cohorts.c.name).where(
        cohorts.c.project_id == project_id, cohorts.c.id.in_(ids)
    )
    return {row.id: row.name or "" for row in await records.fetch(statement)}
