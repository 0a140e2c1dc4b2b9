"""Adding and removing single members of a static cohort, effective at once.

They are written under the next version, as by an import, and the same transaction makes it the
current one. It is refused while an import runs, whose version would lack them.

source: cohorts.md section 17
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import Connection, func, select, update

from fanion.activity.model import ActivityRecord, Author, Change
from fanion.cohorts.members_store import (
    NextVersion,
    add_persons,
    forget_unfinished,
    is_seen,
    remove_persons,
)
from fanion.cohorts.model import StoredCohort
from fanion.cohorts.store import RequireFlagEdit, any_author_may, get_cohort
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.tables import person_overrides, persons
from fanion.errors import Invalid, NotFound, Unavailable
from fanion.projects.flag_version_store import move_flag_version
from fanion.webhooks.outbox_store import record_and_enqueue

# Of one request, in one transaction.
PERSONS_MAX = 1_000
# In the activity, which is read by page.
NAMED_MAX = 20

_cohort = cohorts.c
_member = cohort_people.c
_person = persons.c
_override = person_overrides.c

# From the UUIDs that were sent to the ids of the persons.
Persons = Mapping[UUID, int]


@dataclass(frozen=True, slots=True)
class MemberChangesStore:
    """raises (every call): NotFound and Invalid for the cohort, PermissionDenied when the author
    may not edit flags that use it, Unavailable while an import is running"""

    records: Records
    guard: RequireFlagEdit = any_author_may

    async def add(self, author: Author, cohort_id: int, uuids: Sequence[UUID]) -> Sequence[UUID]:
        """Returns the ids without a person in this project. raises: Invalid when none has one"""
        async with self.records.write() as connection:
            return await connection.run_sync(self._add, author, cohort_id, uuids)

    async def remove(self, author: Author, cohort_id: int, person: UUID) -> None:
        """raises: NotFound for a person who is not a member"""
        async with self.records.write() as connection:
            await connection.run_sync(self._remove, author, cohort_id, person)

    def _add(
        self, connection: Connection, author: Author, cohort_id: int, uuids: Sequence[UUID]
    ) -> Sequence[UUID]:
        cohort = _locked(connection, author, cohort_id, "Can only add users to static cohorts")
        found = _persons(connection, author.project_id, uuids)
        if not found:
            raise Invalid("No valid users to add to cohort", attr="person_ids")
        person_ids = sorted(set(found.values()))
        target, before = _next(cohort), _count(connection, cohort, person_ids)
        add_persons(connection, target, select(_person.id).where(_person.id.in_(person_ids)))
        change = Change(type="Cohort", action="created", field="members", after=_named(found))
        self._show(connection, author, cohort, len(person_ids) - before, change)
        return [one for one in uuids if one not in found]

    def _remove(self, connection: Connection, author: Author, cohort_id: int, person: UUID) -> None:
        cohort = _locked(connection, author, cohort_id, "Can only remove users from static cohorts")
        found = _persons(connection, author.project_id, [person])
        if not remove_persons(connection, _next(cohort), list(found.values())):
            raise NotFound("Person is not in this cohort.")
        change = Change(type="Cohort", action="deleted", field="members", before=_named(found))
        self._show(connection, author, cohort, -1, change)

    def _show(
        self,
        connection: Connection,
        author: Author,
        cohort: StoredCohort,
        difference: int,
        change: Change,
    ) -> None:
        """Make the next version the one that is read. difference: in the number of members"""
        version = _next(cohort).version
        connection.execute(
            update(cohorts)
            .where(_cohort.id == cohort.id)
            .values(
                version=version,
                requested=version,
                count=func.coalesce(_cohort.count, 0) + difference,
                last_calculation=author.now,
            )
        )
        entry = ActivityRecord(
            author=author,
            scope="Cohort",
            item_id=str(cohort.id),
            activity="updated",
            name=cohort.criteria.name or "",
            changes=[change],
        )
        record_and_enqueue(connection, entry)
        move_flag_version(connection, author.project_id)
        self.guard(connection, author, cohort.id)


def _locked(connection: Connection, author: Author, cohort_id: int, refusal: str) -> StoredCohort:
    """raises: NotFound, Invalid, Unavailable"""
    own = (_cohort.project_id == author.project_id) & (_cohort.id == cohort_id)
    row = connection.execute(select(_cohort.lease_until).where(own).with_for_update()).first()
    cohort = get_cohort(connection, author.project_id, cohort_id)
    if row is None or cohort is None:
        raise NotFound
    if not cohort.criteria.is_static:
        raise Invalid(refusal)
    if row.lease_until is not None and row.lease_until > author.now:
        raise Unavailable("Members of this cohort are being imported. Please retry.")
    if cohort.requested > cohort.version:
        forget_unfinished(connection, _next(cohort))
    return cohort


def _next(cohort: StoredCohort) -> NextVersion:
    return NextVersion(cohort.id, cohort.project_id, cohort.version, cohort.requested + 1)


def _persons(connection: Connection, project_id: int, uuids: Sequence[UUID]) -> Persons:
    """A merged person stands for the person it was merged into."""
    mine = _override.project_id == project_id
    overrides = select(_override.old_person, _override.new_person).where(
        mine, _override.old_person.in_(uuids)
    )
    became = {row.old_person: row.new_person for row in connection.execute(overrides)}
    wanted = {one: became.get(one, one) for one in uuids}
    rows = connection.execute(
        select(_person.uuid, _person.id).where(
            _person.project_id == project_id, _person.uuid.in_(set(wanted.values()))
        )
    )
    numbers = {row.uuid: row.id for row in rows}
    return {one: numbers[uuid] for one, uuid in wanted.items() if uuid in numbers}


def _count(connection: Connection, cohort: StoredCohort, person_ids: Sequence[int]) -> int:
    """How many of them are members."""
    seen = is_seen(cohort.version)
    statement = select(func.count()).where(
        _member.cohort_id == cohort.id, _member.person_id.in_(person_ids), seen
    )
    return connection.scalar(statement) or 0


def _named(uuids: Persons) -> list[str]:
    more = len(uuids) - NAMED_MAX
    named = [str(one) for one in list(uuids)[:NAMED_MAX]]
    return [*named, f"and {more} more"] if more > 0 else named
