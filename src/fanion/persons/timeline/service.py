"""Pages of the timeline of a person, read from both stores."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import structs

from fanion.db.engine import Records
from fanion.errors import NotFound
from fanion.events.event import FUTURE, PersonEvent, PersonEventQuery
from fanion.events.storage.store import EventStore
from fanion.persons.store import get_person
from fanion.persons.timeline.current_client import (
    EVENTS_MAX,
    CurrentClient,
    client_of_events,
    client_of_ids,
)
from fanion.persons.timeline.model import (
    EnteredCohort,
    Entry,
    Kind,
    Position,
    cohort_entries,
    event_entries,
    merged_entries,
    read_event,
)
from fanion.persons.timeline.property_history import (
    EDIT_SETTLES,
    HistoryEvent,
    PropertyChange,
    changes_of,
    may_change,
)
from fanion.persons.timeline.store import TimelinePerson, edited_at, find_person
from fanion.properties.size import PROPERTIES_BYTES_MAX

# Events before those of a page that determine former values.
HISTORY_MAX = 500
# Where only changes of properties are requested, few events may have some. A page ends after so
# many events, even if it is not full.
# many events, even if it is not full.
SCANNED_MAX = 2_000
# Updates of a larger person may have been refused, so that former values are not known.
LARGE_CHARS = PROPERTIES_BYTES_MAX // 2

# Returns the cohorts entered, by project and the person's id in the records store.
CohortsOf = Callable[[int, int], Awaitable[Sequence[EnteredCohort]]]
Changes = Mapping[UUID, Sequence[PropertyChange]]


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    """The page of a timeline to return.

    Attributes:
        before: Exclusive, except for entries at this time that follow `after`.
    """

    kinds: frozenset[Kind]
    before: datetime
    limit: int
    after: Position | None = None


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """A page of a timeline.

    Attributes:
        next: The time and position after which the timeline continues; None at its end.
    """

    entries: Sequence[Entry]
    next: tuple[datetime, Position] | None


@dataclass(frozen=True, slots=True)
class Timelines:
    records: Records
    events: EventStore
    cohorts_of: CohortsOf

    async def timeline_page(
        self, project_id: int, person: UUID | int, query: TimelineQuery
    ) -> TimelinePage:
        """Return one page of the timeline of a person.

        Raises:
            NotFound: The project has no such person.
            EventStoreUnavailable: The events cannot be read.
        """
        async with self.records.read() as connection:
            stored = await connection.run_sync(find_person, project_id, person)
        if stored is None:
            raise NotFound
        cohorts: list[Entry] = []
        if "cohort" in query.kinds:
            entered = await self.cohorts_of(project_id, stored.id)
            cohorts = cohort_entries(entered, query.before, query.after)
        entries, rest = await self._read_events(project_id, stored, query)
        if rest is not None:
            # Older cohorts, and those of the same instant, belong to a later page.
            cohorts = [entry for entry in cohorts if entry.timestamp > rest[0]]
        whole = merged_entries(entries, cohorts)
        if len(whole) > query.limit:
            last = whole[query.limit - 1]
            return TimelinePage(whole[: query.limit], (last.timestamp, last.position))
        return TimelinePage(whole, rest)

    async def current_client(
        self, project_id: int, person: UUID | int, now: datetime
    ) -> CurrentClient:
        """Return the client of a person as it would ask for flags now.

        Raises:
            NotFound: The project has no such person, or the person has no distinct id.
            EventStoreUnavailable: The events cannot be read.
        """
        async with self.records.read() as connection:
            stored = await connection.run_sync(find_person, project_id, person)
        if stored is None:
            raise NotFound
        query = PersonEventQuery(stored.uuid, stored.distinct_ids, now + FUTURE, EVENTS_MAX)
        rows = await self.events.timeline(project_id, query)
        client = await asyncio.to_thread(client_of_events, rows)
        if client is None:
            whole = await get_person(self.records, project_id, stored.id)
            client = client_of_ids([] if whole is None else whole.distinct_ids)
        if client is None:
            raise NotFound
        return client

    async def _read_events(
        self, project_id: int, person: TimelinePerson, query: TimelineQuery
    ) -> tuple[list[Entry], tuple[datetime, Position] | None]:
        """Return more entries than the page needs, or all that were found, and where they continue.

        The position is None at the end.
        """
        if query.kinds <= {"cohort"}:
            return [], None
        entries: list[Entry] = []
        events_query, scanned = _first_query(person, query), 0
        after = query.after.event_id if query.after is not None else None
        while True:
            rows = await self.events.timeline(project_id, events_query)
            read = await asyncio.to_thread(_read_all, rows)
            changes = await self._property_changes(project_id, person, read, query.kinds)
            entries += event_entries(read, changes, query.kinds, after)
            scanned += len(rows)
            if len(rows) < events_query.limit:
                return entries, None
            last = rows[-1]
            if len(entries) > query.limit or scanned >= SCANNED_MAX:
                return entries, (last.timestamp, Position("properties", last.uuid))
            events_query = structs.replace(
                events_query, before=last.timestamp, cursor=last.uuid, with_cursor=False
            )

    async def _property_changes(
        self,
        project_id: int,
        person: TimelinePerson,
        read: Sequence[tuple[PersonEvent, HistoryEvent]],
        kinds: frozenset[Kind],
    ) -> Changes:
        """Return the changes that each of the events has made."""
        changing = [event for _, event in read if may_change(event)]
        if not changing or "properties" not in kinds:
            return {}
        unknown: dict[UUID, Sequence[PropertyChange]] = {}
        for event in changing:
            unknown |= changes_of([event], (), is_complete=False)
        if person.properties_chars > LARGE_CHARS:
            return unknown
        upto = max(event.received_at for event in changing)
        history_query = PersonEventQuery(person.uuid, person.distinct_ids, upto, HISTORY_MAX + 1)
        rows = await self.events.accepted_upto(project_id, history_query, upto)
        is_complete = len(rows) <= HISTORY_MAX
        known = [row for row in rows if is_complete or row.received_at > rows[-1].received_at]
        if not known:
            return unknown
        edits = await self._edit_times(project_id, person.uuid, known[-1].received_at, upto)
        if edits is None:
            return unknown
        history = {event.uuid: event for _, event in await asyncio.to_thread(_read_all, known)}
        changes = await asyncio.to_thread(
            changes_of, history.values(), edits, is_complete=is_complete
        )
        return {
            event.uuid: changes.get(event.uuid, ())
            if event.uuid in history
            else unknown.get(event.uuid, ())
            for event in changing
        }

    async def _edit_times(
        self, project_id: int, person: UUID, first: datetime, last: datetime
    ) -> Sequence[datetime] | None:
        async with self.records.read() as connection:
            return await connection.run_sync(
                edited_at, project_id, person, first - EDIT_SETTLES, last
            )


def _first_query(person: TimelinePerson, query: TimelineQuery) -> PersonEventQuery:
    after = query.after
    return PersonEventQuery(
        person.uuid,
        person.distinct_ids,
        query.before,
        query.limit + 1,
        None if after is None else after.event_id,
        after is not None and after.kind == "event",
    )


def _read_all(rows: Sequence[PersonEvent]) -> list[tuple[PersonEvent, HistoryEvent]]:
    """Return each event once: an event that is stored twice has one id."""
    unique = {row.uuid: row for row in rows}
    return [(row, read_event(row)) for row in unique.values()]
