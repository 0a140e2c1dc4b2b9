"""The storing of an envelope that is too large for one batch, in pieces one after another."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import zip_longest
from uuid import UUID

from fanion.accept_log.port import LogEntry
from fanion.ingest.pipeline.batch import (
    PreparedBatch,
    divide_entry,
    named_before,
    with_ids,
    without_duplicates,
)
from fanion.ingest.pipeline.batch_writer import BatchWriter
from fanion.ingest.pipeline.deduplication_store import Deduplicator
from fanion.ingest.pipeline.position_store import (
    LONG_AGO,
    EnvelopeProgress,
    NotLeaseHolder,
    Position,
    Span,
)
from fanion.ingest.pipeline.reader import BatchReader

# Stores an envelope or a piece of one as a dead letter because of its error. The progress is as in
# `IngestStore.write_batch`.
StoreDeadLetter = Callable[[LogEntry, Exception, EnvelopeProgress | None], Awaitable[None]]


class LargeEnvelopeWriter:
    """A writer for envelopes that are too large for one batch.

    Each piece is written in its own transaction, which records the progress in the envelope.
    The partition's next holder continues from there.
    """

    def __init__(
        self,
        reader: BatchReader,
        writer: BatchWriter,
        deduplicator: Deduplicator,
        store_dead_letter: StoreDeadLetter,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._deduplicator = deduplicator
        self._store_dead_letter = store_dead_letter
        self._progress: dict[int, EnvelopeProgress] = {}  # by partition

    def resume(self, held: Mapping[int, Position]) -> None:
        """Load the progress in the partitions that this process holds now."""
        self._progress = {
            part: position.progress for part, position in held.items() if position.progress
        }

    def first_started(self, entries: Sequence[LogEntry]) -> int | None:
        """Return the index of the first entry of which some items are stored, or None."""
        if not self._progress:
            return None
        return next((n for n, entry in enumerate(entries) if self._started(entry)), None)

    async def needs_pieces(self, entry: LogEntry, *, is_unchecked: bool) -> bool:
        """Return whether an entry must be written in pieces.

        An envelope that was started in pieces is continued in pieces, whatever the limit is now.
        One that
        was prepared whole is small enough.
        """
        if self._started(entry):
            return True
        return is_unchecked and await self._reader.is_too_large(entry)

    async def write(self, entry: LogEntry, span: Span) -> None:
        """Write an entry in pieces, with a span that has only this entry."""
        start = self._started(entry)
        earlier = await asyncio.to_thread(named_before, entry, start)
        coming = await asyncio.to_thread(
            divide_entry, entry, start, self._reader.transaction_budget
        )
        for piece, following in zip_longest(coming, coming[1:]):
            after = None if following is None else EnvelopeProgress(entry.id, following.start)
            try:
                batch = await self._new_in_piece(piece, earlier)
                await self._writer.write(batch, span, after)
                await self._writer.adapt_limit([piece])
                await self._deduplicator.remember(batch)
            except NotLeaseHolder:
                raise
            except Exception as error:
                letter = await asyncio.to_thread(with_ids, piece)
                await self._store_dead_letter(letter, error, after)
            self._set_progress(entry, after)

    def _started(self, entry: LogEntry) -> int:
        """Return how many items of an entry are stored."""
        progress = self._progress.get(entry.partition)
        return progress.items if progress is not None and progress.entry_id == entry.id else 0

    def _set_progress(self, entry: LogEntry, progress: EnvelopeProgress | None) -> None:
        if progress is None:
            self._progress.pop(entry.partition, None)
        else:
            self._progress[entry.partition] = progress

    async def _new_in_piece(self, piece: LogEntry, earlier: set[UUID]) -> PreparedBatch:
        """Prepare a piece without repeated items.

        The event store cannot tell which piece of an envelope an event came with.

        Args:
            earlier: The ids of items in previous pieces. Those of this piece are added.
        """
        batch = await self._reader.prepare([piece])
        again = {
            key: dict.fromkeys(earlier.intersection(n), LONG_AGO) for key, n in batch.named.items()
        }
        for uuids in batch.named.values():
            earlier.update(uuids)
        batch = await asyncio.to_thread(without_duplicates, batch, again)
        return await self._deduplicator.without_stored(batch)
