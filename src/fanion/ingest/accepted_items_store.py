"""The items of a person that were accepted and are not stored as events.

They wait in the accept log, or could not be ingested and are dead letters.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, select

from fanion.accept_log.port import AcceptLog, LogEntry
from fanion.db.engine import Records
from fanion.db.schema.tables import dead_letters
from fanion.ingest.erasure_worker import contains_id
from fanion.ingest.items import iter_items
from fanion.ingest.pipeline.position_store import HISTORICAL, LANES, committed_positions
from fanion.ingest.pipeline.prepare import distinct_id_of
from fanion.persons.data_export.model import AcceptedItem

# Requests read at a time, of which at least one is read, however large.
ENVELOPES_MAX, BYTES_MAX = 200, 4 * 2**20

_letter = dead_letters.c


@dataclass(frozen=True, slots=True)
class AcceptedItems:
    """The accepted items of persons that are not stored.

    Attributes:
        now: The time of day: what is accepted after a reading began is not read.
    """

    records: Records
    log: AcceptLog
    now: Callable[[], datetime]

    async def of_ids(
        self, project_id: int, distinct_ids: Collection[str]
    ) -> AsyncGenerator[AcceptedItem]:
        """Yield the items of these distinct ids, those that wait first.

        Raises:
            RecordsUnavailable: The records store failed.
            OSError: The accept log failed.
        """
        upto = self.now()
        for lane in LANES:
            async for entry in self._waiting(lane, upto):
                envelope = entry.envelope
                if envelope.project_id == project_id:
                    for item in await asyncio.to_thread(_items, envelope.body, distinct_ids):
                        yield AcceptedItem(
                            state="waiting", received_at=envelope.received_at, item=item
                        )
        async for letter in self._letters(project_id):
            for item in await asyncio.to_thread(_items, bytes(letter.body), distinct_ids):
                yield AcceptedItem(state="failed", received_at=letter.received_at, item=item)

    async def _waiting(self, lane: str, upto: datetime) -> AsyncGenerator[LogEntry]:
        """Yield the entries of a lane that are not ingested and were accepted until `upto`."""
        after = dict(await committed_positions(self.records, lane, self.log.positions_prefix))
        while True:
            entries = await self.log.read(
                after, ENVELOPES_MAX, BYTES_MAX, historical=lane == HISTORICAL
            )
            for entry in entries:
                after[entry.partition] = max(after.get(entry.partition, 0), entry.id)
                if entry.envelope.received_at <= upto:
                    yield entry
            if all(entry.envelope.received_at > upto for entry in entries):
                return

    async def _letters(self, project_id: int) -> AsyncGenerator[Row[Any]]:
        """Yield the dead letters of a project, one in memory at a time."""
        after = 0
        while True:
            rows: Sequence[Row[Any]] = await self.records.fetch(
                select(_letter.id, _letter.received_at, _letter.body)
                .where(_letter.project_id == project_id, _letter.id > after)
                .order_by(_letter.id)
                .limit(1)
            )
            if not rows:
                return
            yield rows[0]
            after = rows[0].id


def _items(body: bytes, distinct_ids: Collection[str]) -> list[dict[str, Any] | None]:
    """Return the items of these distinct ids; None for a body that names one and is unreadable."""
    try:
        return [
            item
            for items in iter_items(body)
            for item in items
            if distinct_id_of(item) in distinct_ids
        ]
    except Exception:
        # A body that failed ingestion may be malformed in any way; the file still lists it.
        return [None] if contains_id(body, distinct_ids) else []
