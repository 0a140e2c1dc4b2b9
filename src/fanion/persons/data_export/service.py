"""The export of everything that is stored about one person, in bounded memory."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, select

from fanion.activity.model import ActivityRecord, Author
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.tables import person_overrides
from fanion.errors import NotFound
from fanion.events.event import Event, EventQuery
from fanion.events.storage.store import EventStore
from fanion.persons.data_export.model import (
    EVENTS_TEXT,
    AcceptedItem,
    CohortOfPerson,
    ExportedProject,
    ExportHead,
    Packer,
    end_text,
    exported_cohorts,
    exported_events,
    exported_person,
    head_text,
    list_text,
)
from fanion.persons.store import Person, get_person
from fanion.projects.model import Project

# Events read at a time: the first page has EVENTS_FIRST, later ones about PAGE_BYTES.
EVENTS_FIRST, EVENTS_MAX = 100, 1_000
PAGE_BYTES = 4 * 2**20

_override = person_overrides.c

CohortsOf = Callable[[int, int], Awaitable[Sequence[CohortOfPerson]]]
# Reads what was accepted for distinct ids of a project and is not stored.
AcceptedOf = Callable[[int, Collection[str]], AsyncGenerator[AcceptedItem]]


@dataclass(frozen=True, slots=True)
class PersonExports:
    """The exports of persons.

    Attributes:
        cohorts_of: Returns the cohorts of a person, by project and its id in the records store.
        accepted_of: Yields the accepted items of distinct ids that are not stored yet.
    """

    records: Records
    events: EventStore
    cohorts_of: CohortsOf
    accepted_of: AcceptedOf

    async def get_person(self, project_id: int, person_id: UUID | int) -> Person:
        """Return a person.

        Raises:
            NotFound: The project has no such person.
        """
        person = await get_person(self.records, project_id, person_id)
        if person is None:
            raise NotFound
        return person

    async def open_export(
        self, author: Author, project: Project, person_id: UUID | int, *, is_packed: bool
    ) -> tuple[UUID, AsyncGenerator[bytes]]:
        """Record the export in the activity log, and return the person's UUID and the document.

        The document raises when a store fails while it is read, so that it is recognised as broken.

        Raises:
            NotFound: The project has no such person.
            EventStoreUnavailable: The events cannot be read.
        """
        person = await self.get_person(project.id, person_id)
        cohorts = exported_cohorts(await self.cohorts_of(project.id, person.id))
        await self.events.list(project.id, EventQuery(person_id=person.uuid, limit=1))
        async with self.records.write() as connection:
            await connection.run_sync(_record_export, author, person.uuid)
            merged = await connection.run_sync(_merged_persons, project.id, person.uuid)
        head = ExportHead(
            exported_at=author.now,
            project=ExportedProject(id=project.id, name=project.name),
            person=exported_person(person, merged),
            cohorts=cohorts,
        )
        return person.uuid, self._packed_pieces(head, person, is_packed=is_packed)

    async def _packed_pieces(
        self, head: ExportHead, person: Person, *, is_packed: bool
    ) -> AsyncGenerator[bytes]:
        packer = Packer(is_packed=is_packed)
        async with aclosing(self._pieces(head, person)) as pieces:
            async for piece in pieces:
                if packed := await asyncio.to_thread(packer.pack, piece):
                    yield packed
        if rest := packer.finish():
            yield rest

    async def _pieces(self, head: ExportHead, person: Person) -> AsyncGenerator[bytes]:
        """Yield the document. Accepted items come first: those stored meanwhile are in both lists.

        If events came first, an item that is stored meanwhile would be in neither.
        """
        project_id, accepted, events = head.project.id, 0, 0
        yield await asyncio.to_thread(head_text, head)
        async with aclosing(self.accepted_of(project_id, frozenset(person.distinct_ids))) as items:
            async for item in items:
                yield list_text([item], is_first=not accepted)
                accepted += 1
        yield EVENTS_TEXT
        async with aclosing(self._events_pages(project_id, person.uuid)) as pages:
            async for page in pages:
                yield await asyncio.to_thread(_events_text, page, is_first=not events)
                events += len(page)
        yield end_text(accepted, events)

    async def _events_pages(self, project_id: int, person: UUID) -> AsyncGenerator[Sequence[Event]]:
        """Yield the person's events, oldest first."""
        limit, after, cursor = EVENTS_FIRST, None, None
        while True:
            query = EventQuery(
                person_id=person, after=after, cursor=cursor, limit=limit, ascending=True
            )
            page = await self.events.list(project_id, query)
            if page:
                yield page
            if len(page) < limit:
                return
            after, cursor = page[-1].timestamp, page[-1].uuid
            size = sum(len(event.properties) for event in page) // len(page) + 1
            limit = min(max(PAGE_BYTES // size, 1), EVENTS_MAX)


def _events_text(page: Sequence[Event], *, is_first: bool) -> bytes:
    return list_text(exported_events(page), is_first=is_first)


def _record_export(connection: Connection, author: Author, uuid: UUID) -> None:
    """Record only the id: the entry outlives the person."""
    record_activity(
        connection,
        ActivityRecord(
            author=author, scope="Person", item_id=str(uuid), activity="exported", name=str(uuid)
        ),
    )


def _merged_persons(connection: Connection, project_id: int, person: UUID) -> Sequence[UUID]:
    return connection.scalars(
        select(_override.old_person)
        .where(_override.project_id == project_id, _override.new_person == person)
        .order_by(_override.old_person)
    ).all()
