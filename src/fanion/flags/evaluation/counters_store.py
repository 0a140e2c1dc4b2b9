"""Stored counts of evaluations by flag, value and day, as counted by `EvaluationCounters`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, Never
from zoneinfo import ZoneInfo

import structlog
from sqlalchemy import Connection, case, delete

from fanion.db.bulk import upsert
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.insights import flag_evaluations
from fanion.flags.evaluation.service import ByAnswer, EvaluationCounters
from fanion.projects.model import Project
from fanion.runtime.background import run_loop

FLUSH_S = 60.0
FLUSH_AT_END_S = 2.0
UNWRITTEN = "flag_evaluations_unwritten"  # log event
KEPT_DAYS = 90
VALUE_CHARS_MAX = 400

_row = flag_evaluations.c


class EvaluationCountStore:
    """A writer that stores the counts once a minute; a killed server loses the last minute."""

    def __init__(
        self,
        records: Records,
        counts: EvaluationCounters,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        self._records = records
        self._counts = counts
        self._project_of = project_of
        self._now = now
        self._swept: date | None = None
        self._log: structlog.typing.FilteringBoundLogger = structlog.get_logger()

    async def run(self) -> Never:
        """Write the counts until cancelled, and once more at the end."""
        try:
            await run_loop(
                self.flush,
                FLUSH_S,
                UNWRITTEN,
                (RecordsUnavailable,),
                initial_delay_s=FLUSH_S,
            )
        finally:
            await self._flush_at_end()

    async def flush(self) -> None:
        """Write the counts; if that fails they are kept for the next time.

        Raises:
            RecordsUnavailable: The store does not answer.
        """
        counts_by_project, now = self._counts.take_counts(), self._now()
        try:
            rows = [
                row
                for project_id, counts in counts_by_project.items()
                for row in _count_rows(await self._project_of(project_id), counts, now)
            ]
            await self._write(rows, now)
        except BaseException:
            self._counts.put_back(counts_by_project)
            raise

    async def _flush_at_end(self) -> None:
        try:
            await asyncio.wait_for(self.flush(), FLUSH_AT_END_S)
        except (RecordsUnavailable, TimeoutError) as error:
            self._log.warning(UNWRITTEN, reason=str(error))

    async def _write(self, rows: Sequence[Mapping[str, Any]], now: datetime) -> None:
        today = now.date()
        if not rows and self._swept == today:
            return
        async with self._records.write() as connection:
            if rows:
                await connection.run_sync(_add_counts, rows)
            if self._swept != today:
                old = today - timedelta(days=KEPT_DAYS)
                await connection.execute(delete(flag_evaluations).where(_row.day < old))
        self._swept = today


def _count_rows(project: Project | None, counts: ByAnswer, now: datetime) -> list[dict[str, Any]]:
    if project is None:
        return []
    day = now.astimezone(ZoneInfo(project.timezone)).date()
    totals: dict[tuple[str, str], int] = {}
    for (key, value), times in counts.items():
        answer = key, value_text(value)
        totals[answer] = totals.get(answer, 0) + times
    return [
        {
            "project_id": project.id,
            "flag_key": key,
            "day": day,
            "value": value,
            "evaluations": times,
            "last_at": now,
        }
        for (key, value), times in totals.items()
    ]


def value_text(value: bool | str) -> str:
    """Return a flag's value as text, as breakdowns by value name it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.replace("\0", "")[:VALUE_CHARS_MAX]


def _add_counts(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add counts in a fixed order, so that two servers do not wait for each other."""
    statement = upsert(connection.dialect, flag_evaluations)
    new = statement.excluded
    later = case((new.last_at > _row.last_at, new.last_at), else_=_row.last_at)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "flag_key", "day", "value"],
            set_={"evaluations": _row.evaluations + new.evaluations, "last_at": later},
        ),
        sorted(rows, key=lambda row: (row["project_id"], row["flag_key"], row["value"])),
    )
