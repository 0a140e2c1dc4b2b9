"""Changes of persons through the API, concurrent with those of ingestion."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from uuid import UUID

import msgspec
import structlog
from sqlalchemy import Connection, select, update

from fanion.activity.model import ActivityRecord, Author, Change
from fanion.activity.store import record_activity
from fanion.db.engine import Records, RecordsUnavailable
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.errors import Invalid, NotFound, Unavailable
from fanion.events.event import Erasure, EventStoreUnavailable, PersonRow
from fanion.events.mirror_outbox_store import Unmirrored, forget_mirrored, note_unmirrored
from fanion.events.storage.store import EventStore
from fanion.persons.erasure_store import begin_erasure
from fanion.persons.merge import PersonState, PersonUpdate, edit_of
from fanion.persons.state.conflicts_store import PersonsChanged, require_unchanged
from fanion.persons.state.store import STATE_COLUMNS, email_of, ids_by_uuid, read_state
from fanion.persons.state.versions_store import Versions
from fanion.persons.store import Person
from fanion.properties.size import PROPERTIES_BYTES_MAX

TRIES_MAX = 10  # attempts when another server changes the same person

_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c

_encode = msgspec.json.Encoder().encode


class PersonTooLarge(Invalid):
    """A change that would make a person's properties too large.

    Args:
        attr: The field of the request that holds the properties.
    """

    def __init__(self, properties_bytes: int, attr: str = "properties") -> None:
        super().__init__(
            f"Ensure the properties of a person have no more than {PROPERTIES_BYTES_MAX} bytes as "
            f"JSON (this change makes it {properties_bytes}).",
            attr=attr,
        )
        self.properties_bytes = properties_bytes


@dataclass(frozen=True, slots=True)
class PersonChanges:
    """The changes of persons through the API.

    Attributes:
        turn: A lock that is held while persons are changed in this process.
        changed: Called with the project, the person's id and its distinct ids.
        finished: Called with an erasure that was begun; returns whether it is done everywhere.
    """

    records: Records
    events: EventStore
    turn: AbstractAsyncContextManager[object]
    changed: Callable[[int, int, Sequence[str]], None]
    finished: Callable[[Erasure], Awaitable[bool]]
    versions: Versions

    async def update_person(
        self, author: Author, person: UUID | int, update: PersonUpdate
    ) -> Person:
        """Change properties of a person and return the person.

        Raises:
            NotFound: The project has no such person.
            PersonTooLarge: The properties would exceed the limit.
            Unavailable: Others changed the person in every attempt; nothing has been changed.
        """
        async with self.turn:
            for _ in range(TRIES_MAX):
                with suppress(PersonsChanged):
                    return await self._update_person(author, person, update)
        raise Unavailable

    async def erase_person(self, author: Author, person: UUID | int, *, with_events: bool) -> bool:
        """Delete a person permanently; what cannot be done at once is done in the background.

        Returns:
            Whether nothing of the person is left.

        Raises:
            NotFound: The project has no such person.
        """
        async with self.turn:
            state, distinct_ids = await self._find_person(author.project_id, person)
            version = await self.versions.draw(state.version)
            async with self.records.write() as connection:
                erasure = await connection.run_sync(
                    _begin_erasure, author, _person_id(state), version, with_events
                )
            self.changed(author.project_id, _person_id(state), distinct_ids)
        if erasure is None:
            raise NotFound
        return await self.finished(erasure)

    async def _update_person(
        self, author: Author, person: UUID | int, update: PersonUpdate
    ) -> Person:
        project_id = author.project_id
        state, distinct_ids = await self._find_person(project_id, person)
        before = state.version
        # Run off the event loop, since the body may bring megabytes.
        edit = await asyncio.to_thread(edit_of, state, update, is_new=False)
        if edit is not None:
            if not edit.may_be_made(state):
                raise PersonTooLarge(edit.bytes_after)
            edit.apply_to(state)
            state.version = await self.versions.draw(before)
            async with self.records.write() as connection:
                await connection.run_sync(_write_person, author, state, before)
            await self._mirror(project_id, state)
            self.changed(project_id, _person_id(state), distinct_ids)
        return Person(
            _person_id(state),
            state.uuid,
            state.properties,
            state.is_identified,
            state.created_at,
            distinct_ids,
        )

    async def _find_person(
        self, project_id: int, person: UUID | int
    ) -> tuple[PersonState, Sequence[str]]:
        async with self.records.read() as connection:
            result = await connection.run_sync(find_state, project_id, person)
        if result is None:
            raise NotFound
        return result

    async def _mirror(self, project_id: int, person: PersonState) -> None:
        row = PersonRow(
            project_id, person.uuid, _encode(person.properties), person.created_at, person.version
        )
        try:
            await self.events.mirror_persons([row])
            async with self.records.write() as connection:
                await connection.run_sync(forget_mirrored, [person.version])
        except (EventStoreUnavailable, RecordsUnavailable) as error:
            # The loop `mirror` sends the person again.
            structlog.get_logger().warning("person_not_mirrored", reason=str(error))


def find_state(
    connection: Connection, project_id: int, person: UUID | int
) -> tuple[PersonState, Sequence[str]] | None:
    condition = _person.id == person
    if isinstance(person, UUID):
        became = connection.scalar(
            select(_override.new_person).where(
                _override.project_id == project_id, _override.old_person == person
            )
        )
        condition = _person.id.in_(ids_by_uuid(project_id, [became or person]))
    row = connection.execute(
        select(*STATE_COLUMNS).where(_person.project_id == project_id, condition)
    ).first()
    if row is None:
        return None
    ids = connection.scalars(
        select(_link.distinct_id).where(_link.person_id == row.id).order_by(_link.distinct_id)
    )
    return read_state(*row), ids.all()


def _write_person(connection: Connection, author: Author, person: PersonState, before: int) -> None:
    require_unchanged(connection, {_person_id(person): before})
    connection.execute(
        update(persons)
        .where(_person.id == person.id)
        .values(
            properties=person.properties, version=person.version, email=email_of(person.properties)
        )
    )
    note_unmirrored(connection, [Unmirrored(person.version, author.project_id, [person.uuid])])
    # The values are not recorded: they would outlive the person.
    change = Change(type="Person", action="changed", field="properties")
    record_activity(connection, _update_activity(author, person.uuid, change))


def _update_activity(author: Author, uuid: UUID, change: Change) -> ActivityRecord:
    return ActivityRecord(
        author=author,
        scope="Person",
        item_id=str(uuid),
        activity="updated",
        name=str(uuid),
        changes=[change],
    )


def _begin_erasure(
    connection: Connection, author: Author, person_id: int, version: int, with_events: bool
) -> Erasure | None:
    return begin_erasure(connection, author, person_id, version, with_events=with_events)


def _person_id(person: PersonState) -> int:
    assert person.id is not None
    return person.id
