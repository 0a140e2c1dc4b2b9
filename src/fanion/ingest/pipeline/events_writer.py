"""The writing of a batch to the event store: its events, and its changes of the mirror."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain, islice

from fanion.events.event import Override
from fanion.events.storage.encoder import Batch, Block, EventEncoder
from fanion.events.storage.store import EventStore
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.changes_store import BatchChanges
from fanion.ingest.pipeline.resolve import Resolution, group_rows, person_rows


class Insertion:
    """The insertion of batches of rows one after another, while later ones are being encoded.

    Args:
        token: The same for the same batch, so that the engine recognises a repeated insert.
        require_current: Raises NotLeaseHolder if another process may have taken the batch.
    """

    def __init__(self, events: EventStore, token: str, require_current: Callable[[], None]) -> None:
        self._events = events
        self._token = token
        self._require_current = require_current
        self._tasks: list[asyncio.Task[None]] = []

    async def put(self, batch: Batch) -> None:
        """Queue an insert, waiting while more than one is pending.

        Raises:
            EventRejected: The event store refuses an earlier insert.
            EventStoreUnavailable: The event store failed at an earlier insert.
            NotLeaseHolder: Another process may have taken the batch.
        """
        number, before = len(self._tasks), self._tasks[-1] if self._tasks else None
        if number > 1:
            await self._tasks[-2]
        self._tasks.append(asyncio.create_task(self._store(batch, number, before)))

    async def stored(self) -> None:
        """Wait until everything is on disk.

        Raises:
            EventRejected: The event store refuses the rows.
            EventStoreUnavailable: The event store failed.
            NotLeaseHolder: Another process may have taken the batch.
        """
        for task in self._tasks:
            await task

    async def cancel(self) -> None:
        """Cancel the inserts. Those that have started still run to their end in their thread."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _store(self, batch: Batch, number: int, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        self._require_current()
        await self._events.insert(batch, f"{self._token}-{number}")


@asynccontextmanager
async def insertion(
    events: EventStore, token: str, require_current: Callable[[], None]
) -> AsyncGenerator[Insertion]:
    """Yield an insertion, whose `stored` the body must await.

    If the body fails, no further insert is started.
    """
    inserting = Insertion(events, token, require_current)
    try:
        yield inserting
    except BaseException:
        await inserting.cancel()
        raise


def insert_token(
    consumer: str,
    encoder: EventEncoder,
    batch: PreparedBatch,
    resolutions: Sequence[Resolution],
    conflicts: int,
) -> str:
    """Return the deduplication token, the same for the same batch.

    Log positions are not enough: a new log counts from 1 again, and its first events would be taken
    for repetitions. Other parts distinguish a batch that has fewer events, because a person was
    deleted meanwhile, and one that was encoded by the preparer or after a conflict, which has other
    blocks.
    """
    events = sum(len(resolution.arrived) for resolution in resolutions)
    first = next((resolution for resolution in resolutions if resolution.arrived), None)
    first_event = (
        f"{first.project_id}-{first.arrived[0].prepared.uuid}" if first is not None else ""
    )
    made = encoder.version if batch.preparer_result is None else f"{encoder.version}a"
    last = f"{batch.last}+{batch.start}" if batch.start else f"{batch.last}"
    anew = f"-{conflicts}" if conflicts else ""
    return f"{consumer}-{batch.first}-{last}-{first_event}-{events}-{made}{anew}"


def event_blocks(
    encoder: EventEncoder, batch: PreparedBatch, resolutions: Sequence[Resolution]
) -> Iterator[Block]:
    if batch.preparer_result is None:
        count = sum(len(resolution.arrived) for resolution in resolutions)
        events = chain.from_iterable(resolution.events() for resolution in resolutions)
        yield from encoder.event_blocks(events, count)
        return
    of_project = {resolution.project_id: iter(resolution.persons()) for resolution in resolutions}
    persons = [
        person
        for project_id, number in batch.preparer_result.requests
        for person in islice(of_project[project_id], number)
    ]
    for draft in batch.preparer_result.drafts:
        yield draft.block(persons)


def mirror_batch(encoder: EventEncoder, written: Sequence[BatchChanges]) -> Batch:
    """Return the rows of persons, merges and groups for the mirror.

    Cohorts and insights read them there.
    """
    persons = [row for part in written for row in person_rows(part.resolved)]
    overrides = [
        Override(part.resolved.project_id, old, new, part.version)
        for part in written
        for old, new in part.overrides.items()
    ]
    groups = [row for part in written for row in group_rows(part.resolved)]
    return Batch(
        (),
        encoder.person_blocks(persons),
        encoder.override_blocks(overrides),
        encoder.group_blocks(groups),
    )
