"""Splits of persons by request."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from uuid import UUID

import msgspec
import structlog

from fanion.activity.model import Author
from fanion.db.engine import Records, RecordsUnavailable
from fanion.errors import NotFound, Unavailable
from fanion.events.event import EventStoreUnavailable, PersonRow, StatementFailed
from fanion.events.mirror_outbox_store import forget_mirrored
from fanion.events.storage.store import EventStore
from fanion.persons.edits_store import TRIES_MAX, find_state
from fanion.persons.merge import PersonState
from fanion.persons.splits.model import (
    EventsOfId,
    SplitChoice,
    SplitPerson,
    leaving_ids,
    split_persons,
)
from fanion.persons.splits.store import write_split
from fanion.persons.state.conflicts_store import PersonsChanged
from fanion.persons.state.versions_store import Versions

PersonId = UUID | int


@dataclass(frozen=True, slots=True)
class SplitPreview:
    """The preview of a split.

    Attributes:
        remaining: The number of distinct ids that the person keeps.
        events: By distinct id that leaves; ids without events are absent.
    """

    person: PersonState
    remaining: int
    leaving: Sequence[str]
    events: Mapping[str, EventsOfId]


@dataclass(frozen=True, slots=True)
class PersonSplits:
    """The splits of persons by request.

    Attributes:
        turn: A lock that is held while persons are changed in this process.
        changed: Called with the project, the person's id and its distinct ids.
        followed: Called with a project; returns whether the events have followed its splits.
    """

    records: Records
    events: EventStore
    turn: AbstractAsyncContextManager[object]
    changed: Callable[[int, int, Sequence[str]], None]
    followed: Callable[[int], Awaitable[bool]]
    versions: Versions

    async def split(
        self, author: Author, person: PersonId, choice: SplitChoice
    ) -> tuple[PersonState, Sequence[SplitPerson], bool]:
        """Give distinct ids of a person to new persons, each to its own.

        Returns:
            The person, the new ones, and whether their events have followed; otherwise they do so
            in the background.

        Raises:
            NotFound: The project has no such person.
            Invalid: The distinct ids cannot be split off.
            Unavailable: Others changed the person in every attempt; nothing has been changed.
        """
        events: Mapping[str, EventsOfId] = {}
        with suppress(EventStoreUnavailable):  # the new persons are then as old as the former one
            events = (await self.preview(author.project_id, person, choice)).events
        async with self.turn:
            state, made = await self._split(author, person, choice, events)
        return state, made, await self.followed(author.project_id)

    async def preview(self, project_id: int, person: PersonId, choice: SplitChoice) -> SplitPreview:
        """Preview a split of the person as it is stored now; nothing is changed.

        Raises:
            NotFound: The project has no such person.
            Invalid: The distinct ids cannot be split off.
        """
        state, ids = await self._find(project_id, person)
        leaving = leaving_ids(ids, choice)
        try:
            events = await self.events.counts.of_distinct_ids(project_id, leaving)
        except StatementFailed:
            unknown = EventsOfId(count=None)
            return SplitPreview(
                state, len(ids) - len(leaving), leaving, dict.fromkeys(leaving, unknown)
            )
        found = {name: EventsOfId(*counted) for name, counted in events.items()}
        return SplitPreview(state, len(ids) - len(leaving), leaving, found)

    async def _split(
        self,
        author: Author,
        person: PersonId,
        choice: SplitChoice,
        events: Mapping[str, EventsOfId],
    ) -> tuple[PersonState, Sequence[SplitPerson]]:
        for _ in range(TRIES_MAX):
            state, ids = await self._find(author.project_id, person)
            leaving = leaving_ids(ids, choice)
            version = await self.versions.draw(state.version)
            made = split_persons(author.project_id, leaving, events, state.created_at, version)
            with suppress(PersonsChanged):
                async with self.records.write() as connection:
                    await connection.run_sync(write_split, author, state, made, version)
                self.changed(author.project_id, _number(state), ids)
                await self._mirror(author.project_id, made, version)
                return state, made
        raise Unavailable

    async def _find(self, project_id: int, person: PersonId) -> tuple[PersonState, Sequence[str]]:
        async with self.records.read() as connection:
            found = await connection.run_sync(find_state, project_id, person)
        if found is None:
            raise NotFound
        return found

    async def _mirror(self, project_id: int, made: Sequence[SplitPerson], version: int) -> None:
        rows = [
            PersonRow(project_id, new.uuid, msgspec.json.encode({}), new.created_at, version)
            for new in made
        ]
        try:
            await self.events.mirror_persons(rows)
            async with self.records.write() as connection:
                await connection.run_sync(forget_mirrored, [version])
        except (EventStoreUnavailable, RecordsUnavailable) as error:
            # The loop `mirror` sends the persons again.
            structlog.get_logger().warning("person_not_mirrored", reason=str(error))


def _number(person: PersonState) -> int:
    assert person.id is not None
    return person.id
