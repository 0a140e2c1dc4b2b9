"""Cohorts and their members in the records store of tests, without the API."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import Connection, insert, update

from fanion.activity.model import Author
from fanion.cohorts.calculation.lease_store import CohortClaim, CohortLeaseStore
from fanion.cohorts.imports.store import ImportStore, store_uploaded_ids
from fanion.cohorts.members.pages_store import MemberQuery, find_members
from fanion.cohorts.model import CalculationRun, MembersImport, StoredCohort
from fanion.cohorts.service import CohortService, FlagChecks
from fanion.cohorts.store import CohortStore, create_cohort
from fanion.cohorts.validation import created_values
from fanion.db.engine import Records
from fanion.db.schema.tables import person_distinct_ids, persons
from fanion.errors import Invalid
from fanion.flags.definitions.access_store import active_flags_using
from fanion.flags.definitions.integrity_store import flags_without_answer
from fanion.persons.state.merge_store import move_memberships
from fanion.projects.model import Project
from fanion.runtime.change_bus import ChangeBus

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
RUN = CalculationRun(started_at=NOW, seconds=0.1)
LEASE_S = 60.0
PROJECT = Project(1, uuid4(), uuid4(), "p", "phc", "UTC", NOW)
AUTHOR = Author(
    project_id=PROJECT.id, organization_id=PROJECT.organization_id, user_id=None, now=NOW
)


class NoInsights:
    """The actors of insights in tests that have no insights."""

    def pending_query(self, project: Project, sent: Mapping[str, str], now: datetime) -> str:
        raise Invalid("There are no insights.")

    def pending_actors_query(
        self, project: Project, query: Mapping[str, Any], now: datetime
    ) -> str:
        raise Invalid("There are no insights.")


def cohort_service(records: Records) -> CohortService:
    """Return a service for authors who may edit every flag."""

    def allow(_: Connection, author: Author, cohort_id: int) -> None:
        pass

    def wake() -> None:
        pass

    checks = FlagChecks(flags_without_answer, allow, active_flags_using)
    store, uploads = CohortStore(records), ImportStore(records, lambda: NOW)
    return CohortService(store, uploads, NoInsights(), checks, ChangeBus(), wake)


async def make_persons(
    records: Records, *names: str, project_id: int = 1
) -> dict[str, tuple[UUID, int]]:
    """Create persons, each with its name as distinct id, and return their UUIDs and numbers."""
    created: dict[str, tuple[UUID, int]] = {}
    async with records.write() as connection:
        for name in names:
            uuid = uuid4()
            row = {
                "project_id": project_id,
                "uuid": uuid,
                "properties": {},
                "is_identified": True,
                "created_at": NOW,
                "version": 1,
                "email": None,
            }
            added = await connection.execute(insert(persons).values(row).returning(persons.c.id))
            number = added.scalar_one()
            created[name] = uuid, number
            link = {"project_id": project_id, "distinct_id": name, "person_id": number}
            await connection.execute(insert(person_distinct_ids).values(link))
    return created


async def cohort(
    records: Records, members: MembersImport | None = None, **sent: Any
) -> StoredCohort:
    values = created_values(sent, NOW, imports=members is not None)
    async with records.write() as connection:
        return await connection.run_sync(create_cohort, AUTHOR, values, members)


async def store_upload(records: Records, *ids: str) -> MembersImport:
    """Store an upload of distinct ids that no cohort has yet."""
    async with records.write() as connection:
        return await connection.run_sync(store_uploaded_ids, 1, "distinct_id", ids, NOW)


async def claim_cohort(
    work: CohortLeaseStore, now: datetime = NOW, lease: str = "me"
) -> CohortClaim:
    claim = await work.claim_cohort(now, lease)
    assert claim is not None
    return claim


async def publish_members(
    work: CohortLeaseStore, claim: CohortClaim, again_at: datetime | None = None
) -> int:
    return await work.publish_version(claim, NOW, again_at, RUN)


async def names_in(records: Records, cohort_id: int) -> list[str]:
    stored = await CohortStore(records).get_cohort(1, cohort_id)
    assert stored is not None
    page = await find_members(records, stored, MemberQuery())
    return sorted(person.distinct_ids[0] for person in page.persons)


async def uuids(created: dict[str, tuple[UUID, int]], names: str) -> Sequence[UUID]:
    return [created[name][0] for name in names]


async def merge(records: Records, gone: int, survivor: int) -> None:
    """Merge two persons: the survivor gets the other's distinct id.

    Its own distinct id is dropped, to keep names short.
    """
    link = person_distinct_ids.c
    async with records.write() as connection:
        await connection.run_sync(move_memberships, [{"gone": gone, "survivor": survivor}])
        await connection.execute(person_distinct_ids.delete().where(link.person_id == survivor))
        await connection.execute(
            update(person_distinct_ids).where(link.person_id == gone).values(person_id=survivor)
        )
        await connection.execute(persons.delete().where(persons.c.id == gone))
