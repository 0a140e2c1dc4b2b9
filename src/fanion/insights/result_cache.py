"""Results of insights, kept in the records store: every server shows what one has calculated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select

from fanion.db.engine import Records
from fanion.db.schema.insights import insight_results
from fanion.db.upsert import upsert
from fanion.insights.model import KEPT, Answer

RESULTS_MAX = 1_000  # of one project; some kilobytes each

_result = insight_results.c


@dataclass(frozen=True, slots=True)
class ResultStore:
    records: Records

    async def get(
        self, project_id: int, hashes: Sequence[str], now: datetime
    ) -> Mapping[str, Answer]:
        """By hash; what was never calculated, or too long ago, is absent."""
        statement = select(_result.filters_hash, _result.result, _result.calculated_at).where(
            _result.project_id == project_id,
            _result.filters_hash.in_(hashes),
            _result.calculated_at > now - KEPT,
        )
        rows = await self.records.fetch(statement)
        return {
            row.filters_hash: Answer(row.result, row.calculated_at, is_cached=True) for row in rows
        }

    async def put(
        self, project_id: int, filters_hash: str, result: list[dict[str, Any]], now: datetime
    ) -> None:
        async with self.records.write() as connection:
            await connection.run_sync(_put, project_id, filters_hash, result, now)


def _put(
    connection: Connection,
    project_id: int,
    filters_hash: str,
    result: list[dict[str, Any]],
    now: datetime,
) -> None:
    statement = upsert(connection.dialect, insight_results).values(
        project_id=project_id, filters_hash=filters_hash, result=result, calculated_at=now
    )
    new = statement.excluded
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "filters_hash"],
            set_={"result": new.result, "calculated_at": new.calculated_at},
        )
    )
    last_kept = (
        select(_result.calculated_at)
        .where(_result.project_id == project_id)
        .order_by(_result.calculated_at.desc())
        .offset(RESULTS_MAX)
        .limit(1)
    )
    connection.execute(delete(insight_results).where(_result.calculated_at <= now - KEPT))
    connection.execute(
        delete(insight_results).where(
            _result.project_id == project_id,
            _result.calculated_at <= last_kept.scalar_subquery(),
        )
    )
