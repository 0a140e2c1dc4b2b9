"""How far a copy of events has come, in the records store."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select

from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.activity import SOURCE_CHARS_MAX, event_copies
from fanion.db.schema.tables import log_positions
from fanion.transfer.posthog.windows import CopyProgress

_copy = event_copies.c


async def ingested_upto(records: Records) -> int:
    """The place in the accept log up to which imports are ingested."""
    rows = await records.fetch(
        select(log_positions.c.position).where(log_positions.c.consumer == "historical")
    )
    return rows[0].position if rows else 0


@dataclass(frozen=True, slots=True)
class ProgressStore:
    """Of one project and one source."""

    records: Records
    project_id: int
    source: str

    async def get(self) -> CopyProgress | None:
        rows = await self.records.fetch(
            select(_copy.since, _copy.copied_upto, _copy.is_finished).where(
                _copy.project_id == self.project_id, _copy.source == self.source[:SOURCE_CHARS_MAX]
            )
        )
        if not rows:
            return None
        return CopyProgress(rows[0].since, rows[0].copied_upto, rows[0].is_finished)

    async def put(self, progress: CopyProgress, now: datetime) -> None:
        values = {
            "since": progress.since,
            "copied_upto": progress.copied_upto,
            "is_finished": progress.is_finished,
            "updated_at": now,
        }
        async with self.records.write() as connection:
            statement = upsert(connection.dialect, event_copies).values(
                project_id=self.project_id, source=self.source[:SOURCE_CHARS_MAX], **values
            )
            await connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["project_id", "source"], set_=values
                )
            )
