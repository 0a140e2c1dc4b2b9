"""Which events of a run were stored before: a retry keeps its events' ids."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.batch import PreparedRun, without_duplicates
from fanion.ingest.pipeline.bloom_filter import SeenIds
from fanion.ingest.pipeline.retry import Patience

# Clients retry for minutes.
REMEMBERED = timedelta(hours=2)
REMEMBERED_MAX = 2_000_000
# Of one run of an import; one in the order of time spans few. Asking for all would read all.
IMPORTED_DAYS_MAX = 400


class Repetitions:
    """Of one lane. Ids are remembered, so that the event store is seldom asked.

    historical: an import may be repeated after months, which no memory knows: the store is asked
    """

    def __init__(self, events: EventStore, patience: Patience, *, historical: bool) -> None:
        self._events = events
        self._patience = patience
        self._historical = historical
        self._seen = SeenIds()

    async def recall(self, now: datetime) -> None:
        """What was stored before this process began counts as seen."""
        since = now - REMEMBERED
        self._seen.add(
            await self._patience.until_done(lambda: self._events.recent_ids(since, REMEMBERED_MAX))
        )

    async def remember(self, run: PreparedRun) -> None:
        """To be called when the run is stored."""
        for uuids in run.named.values():
            await asyncio.to_thread(self._seen.add, uuids)

    async def left_out(self, run: PreparedRun) -> PreparedRun:
        """The run without them."""
        stored: dict[int, dict[UUID, datetime]] = {}
        for project_id, uuids in run.named.items():
            known = await self._imported(run, project_id) if self._historical else {}
            unknown = [one for one in uuids if one not in known] if known else uuids
            perhaps = await asyncio.to_thread(self._seen.perhaps, unknown)
            stored[project_id] = {**known, **await self._existing(project_id, perhaps)}
        return await asyncio.to_thread(without_duplicates, run, stored)

    async def _existing(self, project_id: int, uuids: Sequence[UUID]) -> Mapping[UUID, datetime]:
        if not uuids:
            return {}
        ask = partial(self._events.existing, project_id, uuids)
        return await self._patience.until_done(ask)

    async def _imported(self, run: PreparedRun, project_id: int) -> Mapping[UUID, datetime]:
        """A copy of an event has its time, so that few days need to be looked at."""
        days = run.named_days(project_id)
        if not 0 < len(days) <= IMPORTED_DAYS_MAX:
            return {}
        ask = partial(self._events.existing_on, project_id, run.named[project_id], days)
        return await self._patience.until_done(ask)
