"""The search for a batch's events that are already stored: clients retry with the same ids."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.batch import PreparedBatch, without_duplicates
from fanion.ingest.pipeline.retry import StoreRetry

if TYPE_CHECKING:  # numpy takes 14 MB, and is loaded with the first ids
    from fanion.ingest.pipeline.bloom_filter import BloomFilter

# Clients retry for minutes.
REMEMBERED = timedelta(hours=2)
REMEMBERED_MAX = 2_000_000
# The limit of days searched at once for a batch of an import. A batch in order of time spans few; a
# search without days would read everything.
IMPORTED_DAYS_MAX = 400


class Deduplicator:
    """The deduplication of one lane. A Bloom filter of recent ids saves most event store queries.

    Args:
        historical: Whether to look up all ids, because an import may be repeated after months.
    """

    def __init__(self, events: EventStore, retry: StoreRetry, *, historical: bool) -> None:
        self._events = events
        self._retry = retry
        self._historical = historical
        self._recent: BloomFilter | None = None  # no ids yet

    async def recall(self, now: datetime) -> None:
        """Load the ids that were stored before this process started."""
        since = now - REMEMBERED
        uuids = await self._retry.call(self._events.recent_ids, since, REMEMBERED_MAX)
        await asyncio.to_thread(self._add, uuids)

    async def remember(self, batch: PreparedBatch) -> None:
        """Add the ids of a stored batch."""
        for uuids in batch.named.values():
            await asyncio.to_thread(self._add, uuids)

    async def without_stored(self, batch: PreparedBatch) -> PreparedBatch:
        """Return the batch without events that are already stored."""
        stored: dict[int, dict[UUID, datetime]] = {}
        for project_id, uuids in batch.named.items():
            known = await self._imported(batch, project_id) if self._historical else {}
            unknown = [uuid for uuid in uuids if uuid not in known] if known else uuids
            possible = await asyncio.to_thread(self._find, unknown)
            stored[project_id] = {**known, **await self._existing(project_id, possible)}
        return await asyncio.to_thread(without_duplicates, batch, stored)

    def _add(self, uuids: Sequence[UUID]) -> None:
        if not uuids:
            return
        if self._recent is None:
            from fanion.ingest.pipeline.bloom_filter import BloomFilter

            self._recent = BloomFilter()
        self._recent.add(uuids)

    def _find(self, uuids: Sequence[UUID]) -> list[UUID]:
        return [] if self._recent is None else self._recent.find(uuids)

    async def _existing(self, project_id: int, uuids: Sequence[UUID]) -> Mapping[UUID, datetime]:
        if not uuids:
            return {}
        return await self._retry.call(self._events.existing, project_id, uuids)

    async def _imported(self, batch: PreparedBatch, project_id: int) -> Mapping[UUID, datetime]:
        """Return the batch's ids that are stored on the days of its events.

        Only these days are searched, because a repeated event has the same time.
        """
        by_day = batch.named_by_day(project_id)
        days, existing = sorted(by_day), dict[UUID, datetime]()
        for start in range(0, len(days), IMPORTED_DAYS_MAX):
            searched = days[start : start + IMPORTED_DAYS_MAX]
            uuids = [uuid for day in searched for uuid in by_day[day]]
            existing |= await self._retry.call(
                self._events.existing_on, project_id, uuids, searched
            )
        return existing
