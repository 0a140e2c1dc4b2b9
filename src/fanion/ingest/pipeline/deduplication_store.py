"""The search for a batch's events that are already stored: clients retry with the same ids."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.batch import PreparedBatch, without_duplicates
from fanion.ingest.pipeline.retry import StoreRetry

# Clients retry for minutes.
REMEMBERED = timedelta(hours=2)
REMEMBERED_MAX = 2_000_000
# The limit of days searched at once for a batch of an import. A batch in order of time spans few; a
# search without days would read everything.
IMPORTED_DAYS_MAX = 400

# The number of ids in one generation. There are two, so that the last four million ids are always
# known. With these sizes the false positive rate is 1 in 500; the event store then decides.
IDS_MAX = 4_000_000
_BITS = 26  # 8 MB for each generation
_MASK = np.uint64((1 << _BITS) - 1)
_SHIFTS = np.array([0, 19, 38], dtype=np.uint64)
_ODD = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)

_Places = NDArray[np.uint64]


class Deduplicator:
    """The deduplication of one lane. A Bloom filter of recent ids saves most event store queries.

    Args:
        historical: Whether to look up all ids, because an import may be repeated after months.
    """

    def __init__(self, events: EventStore, retry: StoreRetry, *, historical: bool) -> None:
        self._events = events
        self._retry = retry
        self._historical = historical
        self._recent = BloomFilter()

    async def recall(self, now: datetime) -> None:
        """Load the ids that were stored before this process started."""
        since = now - REMEMBERED
        self._recent.add(await self._retry.call(self._events.recent_ids, since, REMEMBERED_MAX))

    async def remember(self, batch: PreparedBatch) -> None:
        """Add the ids of a stored batch."""
        for uuids in batch.named.values():
            await asyncio.to_thread(self._recent.add, uuids)

    async def without_stored(self, batch: PreparedBatch) -> PreparedBatch:
        """Return the batch without events that are already stored."""
        stored: dict[int, dict[UUID, datetime]] = {}
        for project_id, uuids in batch.named.items():
            known = await self._imported(batch, project_id) if self._historical else {}
            unknown = [uuid for uuid in uuids if uuid not in known] if known else uuids
            possible = await asyncio.to_thread(self._recent.find, unknown)
            stored[project_id] = {**known, **await self._existing(project_id, possible)}
        return await asyncio.to_thread(without_duplicates, batch, stored)

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


class BloomFilter:
    """A Bloom filter in two generations, for whole batches.

    It takes 0.6 µs for each id; a loop in Python takes 8.
    """

    def __init__(self, ids_max: int = IDS_MAX) -> None:
        self._ids_max = ids_max
        self._count = 0
        self._new = self._old = np.zeros(1 << (_BITS - 3), dtype=np.uint8)

    def find(self, uuids: Sequence[UUID]) -> list[UUID]:
        """Return the ids that may have been added. All others were not."""
        if not uuids:
            return []
        places = _places(uuids)
        is_known = _has_all(self._new, places) | _has_all(self._old, places)
        return [uuids[index] for index in np.flatnonzero(is_known).tolist()]

    def add(self, uuids: Sequence[UUID]) -> None:
        if not uuids:
            return
        places = _places(uuids).ravel()
        masks = (np.uint8(1) << (places & np.uint64(7)).astype(np.uint8)).astype(np.uint8)
        np.bitwise_or.at(self._new, places >> np.uint64(3), masks)
        self._count += len(uuids)
        if self._count >= self._ids_max:
            self._old, self._new = self._new, np.zeros_like(self._new)
            self._count = 0


def _places(uuids: Sequence[UUID]) -> _Places:
    """Return three bits for each id, from both halves, since ids of one moment share the first."""
    halves = np.frombuffer(b"".join([uuid.bytes for uuid in uuids]), dtype="<u8").reshape(-1, 2)
    mixed = halves * _ODD
    mixed = (mixed[:, 0] >> np.uint64(29)) ^ mixed[:, 1] ^ (mixed[:, 1] >> np.uint64(31))
    mixed = mixed * _ODD[0]
    places: _Places = (mixed[:, None] >> _SHIFTS) & _MASK
    return places


def _has_all(bits: NDArray[np.uint8], places: _Places) -> NDArray[np.bool_]:
    values = bits[places >> np.uint64(3)] >> (places & np.uint64(7)).astype(np.uint8)
    are_set: NDArray[np.bool_] = (values & np.uint8(1)).astype(np.bool_).all(axis=1)
    return are_set
