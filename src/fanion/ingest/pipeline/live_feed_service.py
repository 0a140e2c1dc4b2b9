"""The feed of stored events for streams of live events of projects that have readers.

Without readers, a batch costs one lookup in a dict.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
import structlog

from fanion.accept_log.port import LogEntry
from fanion.events.live.ring import EVENTS_MAX, LiveEvent, LiveFilter, live_event, of_action
from fanion.events.live.stream_service import LiveEvents
from fanion.ingest.event import ReceivedEvent
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.reader import BatchReader
from fanion.ingest.pipeline.resolve import Resolved, stored_event
from fanion.persons.merge import person_uuid

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Chosen:
    """The events chosen for one filter.

    Attributes:
        numbers: The indices of events among those of the project.
        earlier: The number of matching events before them.
    """

    filter: LiveFilter
    numbers: Sequence[int]
    earlier: int


@dataclass(frozen=True, slots=True)
class LiveFeed:
    """The feed of the events that this server stores.

    Attributes:
        reader: Prepares events again that the preparer process has prepared.
        shows_all: Returns whether this server stores all events. Otherwise the streams read them
            from the event store.
    """

    live: LiveEvents
    reader: BatchReader
    shows_all: Callable[[], bool]
    now: Callable[[], datetime]

    async def show_events(
        self, batch: PreparedBatch, stored: Iterable[tuple[Resolved, Mapping[str, int]]]
    ) -> None:
        """Show the events just stored.

        No error is raised, because the batch is stored, whatever becomes of the streams.

        Args:
            stored: The events of each project, with the types of its groups (type → index).
        """
        if not self.shows_all():
            return
        try:
            for resolved, types in stored:
                filters = self.live.filters(resolved.project_id)
                if filters and resolved.arrived:
                    await self._show(batch, resolved, types, filters)
        except Exception as error:
            structlog.get_logger().error("live_events_not_shown", exc_info=error)

    async def _show(
        self,
        batch: PreparedBatch,
        resolved: Resolved,
        types: Mapping[str, int],
        filters: Sequence[LiveFilter],
    ) -> None:
        chosen = await asyncio.to_thread(choose_events, resolved, filters)
        numbers = sorted({number for choice in chosen for number in choice.numbers})
        arrived = await self._with_properties(batch, resolved, numbers)
        events = await asyncio.to_thread(_live_events, batch, resolved, arrived, types)
        for choice in chosen:
            matching = [events[number] for number in choice.numbers if number in events]
            if action := choice.filter.action:
                matching = await asyncio.to_thread(of_action, matching, action, self.now())
            self.live.put_events(resolved.project_id, choice.filter, matching, choice.earlier)

    async def _with_properties(
        self, batch: PreparedBatch, resolved: Resolved, numbers: Sequence[int]
    ) -> Mapping[int, ReceivedEvent]:
        """Return the events by number, with properties.

        Events that the preparer process has prepared come without properties.
        """
        arrived = {number: resolved.arrived[number] for number in numbers}
        if batch.preparer_result is None or not numbers:
            return arrived
        entries = entries_of(batch, resolved.project_id, numbers)
        again = await self.reader.prepare(entries)
        whole = {event.prepared.uuid: event for event in again.arrived.get(resolved.project_id, ())}
        # Events that the project's rules have dropped since are left out.
        return {
            number: whole[event.prepared.uuid]
            for number, event in arrived.items()
            if event.prepared.uuid in whole
        }


def choose_events(resolved: Resolved, filters: Sequence[LiveFilter]) -> list[Chosen]:
    """Return the last events that match each filter, as many as a ring holds."""
    chosen: list[Chosen] = []
    for live_filter in filters:
        numbers: Sequence[int] = range(len(resolved.arrived))
        if live_filter != LiveFilter():
            numbers = [
                number
                for number, event in enumerate(resolved.arrived)
                if live_filter.fits(
                    event.prepared.name,
                    event.prepared.distinct_id,
                    _owner(resolved, event.prepared.distinct_id),
                )
            ]
        kept = numbers[-EVENTS_MAX:]
        if kept:
            # How many of those before are of an action is not known, since they are not read.
            earlier = len(numbers) - len(kept) if live_filter.action is None else 0
            chosen.append(Chosen(live_filter, kept, earlier))
    return chosen


def entries_of(batch: PreparedBatch, project_id: int, numbers: Sequence[int]) -> Sequence[LogEntry]:
    """Return the envelopes that contain these events of the project.

    Args:
        batch: A batch that the preparer process has prepared.
        numbers: The indices of the events, ascending.
    """
    assert batch.preparer_result is not None
    entries: list[LogEntry] = []
    remaining, start = iter(numbers), 0
    number = next(remaining, None)
    result = batch.preparer_result
    for entry, (of_project, count) in zip(result.entries, result.requests, strict=True):
        if of_project != project_id:
            continue
        end, is_wanted = start + count, False
        while number is not None and number < end:
            is_wanted, number = True, next(remaining, None)
        if is_wanted:
            entries.append(entry)
        start = end
    return entries


def _live_events(
    batch: PreparedBatch,
    resolved: Resolved,
    arrived: Mapping[int, ReceivedEvent],
    types: Mapping[str, int],
) -> dict[int, LiveEvent]:
    return {
        number: _live_event(f"{batch.last}-{batch.start + number}", resolved, event, types)
        for number, event in arrived.items()
    }


def _live_event(
    position: str, resolved: Resolved, arrived: ReceivedEvent, types: Mapping[str, int]
) -> LiveEvent:
    prepared = arrived.prepared
    person = _owner(resolved, prepared.distinct_id)
    event = stored_event(resolved.project_id, arrived, person, types)
    chain = _encode(prepared.properties.get("$elements_chain", ""))
    return live_event(position, event, chain)


def _owner(resolved: Resolved, distinct_id: str) -> UUID:
    """Return the person that owns the distinct id's events after the batch, or would own them."""
    person = resolved.owners.get(distinct_id)
    if person is not None:
        return person.uuid
    uuid = person_uuid(resolved.project_id, distinct_id)
    return resolved.split_ids.get(uuid, uuid)
