"""Members of cohorts, copied into the event store for the statements of one calculation."""

from collections.abc import Collection
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from fanion.cohorts.members.store import stream_members
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.events.storage.inserts import INPUTS_MAX
from fanion.events.storage.store import EventStore

_cohort = cohorts.c


@dataclass(frozen=True, slots=True)
class CohortInputs:
    records: Records
    events: EventStore

    async def put_members(
        self, run: UUID, project_id: int, cohort_ids: Collection[int], *, with_deleted: bool = False
    ) -> None:
        """Copy members as of the last calculation into the rows of `cohort_inputs` for a run.

        Deleted cohorts are skipped unless `with_deleted`.

        Raises:
            RecordsUnavailable: The members cannot be read.
            EventStoreUnavailable: The members cannot be written.
        """
        if cohort_ids and not with_deleted:
            statement = select(_cohort.id).where(
                _cohort.project_id == project_id,
                _cohort.id.in_(cohort_ids),
                _cohort.deleted.is_(False),
            )
            cohort_ids = [row.id for row in await self.records.fetch(statement)]
        for cohort_id in cohort_ids:
            await self._put_cohort(run, project_id, cohort_id)

    async def _put_cohort(self, run: UUID, project_id: int, cohort_id: int) -> None:
        waiting: list[str] = []
        async with aclosing(stream_members(self.records, project_id, cohort_id)) as batches:
            async for batch in batches:
                waiting += [member.hex() for member, _ in batch]
                if len(waiting) >= INPUTS_MAX:
                    await self.events.put_inputs(run, cohort_id, waiting)
                    waiting = []
        if waiting:
            await self.events.put_inputs(run, cohort_id, waiting)
