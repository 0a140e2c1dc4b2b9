"""The members of a cohort: pages of members, as a table too, and changes of single ones.

Persons added to a static cohort are written under the next version, as an import does it, and the
same transaction makes that version the current one. It is refused while an import runs, whose
version would lack them.

Source: cohorts.md sections 14 and 17.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection, select

from fanion.activity.model import Author, Change
from fanion.cohorts.members.csv_export import CsvColumns, header_line, table_rows
from fanion.cohorts.members.pages_store import (
    DISTINCT_IDS_READ_MAX,
    PERSONS_MAX,
    MemberQuery,
    Persons,
    count_members,
    find_keys,
    find_members,
    persons_by_uuid,
    publish_members,
)
from fanion.cohorts.members.store import add_persons, next_version, remove_persons
from fanion.cohorts.model import StoredCohort
from fanion.cohorts.schemas import member_body
from fanion.cohorts.service import CohortService
from fanion.cohorts.store import lock_static_cohort, record_activity
from fanion.db.engine import Records
from fanion.db.schema.persons import person_keys
from fanion.errors import Invalid, NotFound
from fanion.events.storage.store import EventStore
from fanion.persons.list_store import (
    Choose,
    PersonKey,
    PersonsPage,
    having_properties,
    in_portions,
)
from fanion.persons.store import Person
from fanion.projects.store import move_flag_version
from fanion.properties.validation import read_conditions

# Persons named in one entry of the activity log, which is read by page.
NAMED_MAX = 20

_key = person_keys.c


@dataclass(frozen=True, slots=True)
class CohortMembers:
    """The members of cohorts.

    Every change raises NotFound or Invalid for the cohort, PermissionDenied if the author may not
    edit flags that use it, and Unavailable while an import is running.
    """

    cohorts: CohortService
    events: EventStore

    def having_properties(
        self, project_id: int, properties: str | None, now: datetime
    ) -> Choose | None:
        """Return the choice of the members to whom conditions apply.

        Args:
            properties: A JSON list of conditions.

        Raises:
            Invalid: The conditions are malformed.
        """
        conditions = read_conditions(properties, "persons")
        if not conditions:
            return None
        return having_properties(conditions, self.events, project_id, now)

    async def members_page(self, cohort: StoredCohort, query: MemberQuery) -> PersonsPage:
        """Return one page of members, newest person first."""
        async with self.events.turn(cohort.project_id):
            return await find_members(self.cohorts.records, cohort, query)

    async def csv_table(
        self, cohort: StoredCohort, query: MemberQuery
    ) -> AsyncGenerator[bytes] | None:
        """Return one page of members as a table in pieces, or None if there are no members."""
        records = self.cohorts.records
        async with self.events.turn(cohort.project_id):
            keys = await find_keys(records, cohort, query)
            columns = CsvColumns()
            async for persons in _portions(records, cohort, keys):
                await asyncio.to_thread(_add_columns, columns, persons)
        names = columns.names()
        return _table_pieces(records, cohort, keys, names) if names else None

    async def add_members(
        self, author: Author, cohort_id: int, person_ids: Sequence[UUID]
    ) -> Sequence[UUID]:
        """Add persons and return the ids without a person in this project.

        Raises:
            Invalid: There are no ids, too many, or none that has a person.
        """
        uuids = list(dict.fromkeys(person_ids))
        if not uuids:
            raise Invalid("person_ids cannot be empty", attr="person_ids")
        if len(uuids) > PERSONS_MAX:
            raise Invalid(
                f"List size exceeds limit: {len(uuids)} persons, at most {PERSONS_MAX}.",
                attr="person_ids",
            )
        async with self.cohorts.records.write() as connection:
            unmatched = await connection.run_sync(self._add_members, author, cohort_id, uuids)
        self.cohorts.notify(author.project_id)
        return unmatched

    async def remove_member(self, author: Author, cohort_id: int, person: UUID) -> None:
        """Remove a person.

        Raises:
            NotFound: The person is not a member.
        """
        async with self.cohorts.records.write() as connection:
            await connection.run_sync(self._remove_member, author, cohort_id, person)
        self.cohorts.notify(author.project_id)

    def _add_members(
        self, connection: Connection, author: Author, cohort_id: int, uuids: Sequence[UUID]
    ) -> Sequence[UUID]:
        cohort = lock_static_cohort(
            connection, author, cohort_id, "Can only add users to static cohorts"
        )
        matched = persons_by_uuid(connection, author.project_id, uuids)
        if not matched:
            raise Invalid("No valid users to add to cohort", attr="person_ids")
        person_ids = sorted(set(matched.values()))
        before = count_members(connection, cohort, person_ids)
        who = select(_key.person_id).where(_key.person_id.in_(person_ids))
        add_persons(connection, next_version(cohort), who)
        change = Change(
            type="Cohort", action="created", field="members", after=_named_uuids(matched)
        )
        self._publish(connection, author, cohort, len(person_ids) - before, change)
        return [uuid for uuid in uuids if uuid not in matched]

    def _remove_member(
        self, connection: Connection, author: Author, cohort_id: int, person: UUID
    ) -> None:
        cohort = lock_static_cohort(
            connection, author, cohort_id, "Can only remove users from static cohorts"
        )
        matched = persons_by_uuid(connection, author.project_id, [person])
        if not remove_persons(connection, next_version(cohort), list(matched.values())):
            raise NotFound("Person is not in this cohort.")
        change = Change(
            type="Cohort", action="deleted", field="members", before=_named_uuids(matched)
        )
        self._publish(connection, author, cohort, -1, change)

    def _publish(
        self,
        connection: Connection,
        author: Author,
        cohort: StoredCohort,
        difference: int,
        change: Change,
    ) -> None:
        """Make the next version the current one, with `difference` more members."""
        publish_members(connection, author, cohort, difference)
        record_activity(connection, author, cohort, "updated", [change])
        move_flag_version(connection, author.project_id)
        self.cohorts.flags.require_edit(connection, author, cohort.id)


async def _table_pieces(
    records: Records, cohort: StoredCohort, keys: Sequence[PersonKey], names: list[str]
) -> AsyncGenerator[bytes]:
    yield header_line(names).encode()
    async for persons in _portions(records, cohort, keys):
        yield await asyncio.to_thread(_csv_rows, persons, names)


async def _portions(
    records: Records, cohort: StoredCohort, keys: Sequence[PersonKey]
) -> AsyncGenerator[list[Person]]:
    portions = in_portions(records, cohort.project_id, keys, DISTINCT_IDS_READ_MAX)
    async with aclosing(portions):
        async for persons, _ in portions:
            yield persons


def _add_columns(columns: CsvColumns, persons: Sequence[Person]) -> None:
    for person in persons:
        columns.add_row(_member_json(person))


def _csv_rows(persons: Sequence[Person], names: list[str]) -> bytes:
    return table_rows(map(_member_json, persons), names).encode()


def _member_json(person: Person) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(member_body(person))
    return body


def _named_uuids(uuids: Persons) -> list[str]:
    more = len(uuids) - NAMED_MAX
    named = [str(uuid) for uuid in list(uuids)[:NAMED_MAX]]
    return [*named, f"and {more} more"] if more > 0 else named
