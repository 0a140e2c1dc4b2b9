"""Calculations and imports in the records store: leases, writing of members, and results.

A cohort is claimed by a lease, so that one of several servers calculates it; the lease of a server
that died expires. New members are written in small transactions under the next version, which no
reader sees until a last transaction makes it the current one. Each transaction renews the lease
first: a server that lost it writes nothing more. The lease has a holder, unlike those of
`db/due_work`, because a second task renews it at the same time (decision 23).
"""

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from msgspec import structs
from sqlalchemy import (
    ColumnElement,
    Connection,
    Exists,
    Select,
    case,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.cohorts.criteria.definition import Criteria
from fanion.cohorts.imports.store import PersonLookup, drop_imports
from fanion.cohorts.members.store import (
    MEMBERS_MAX,
    NextVersion,
    add_persons,
    forget_unfinished,
    is_seen,
    remove_persons,
)
from fanion.cohorts.model import CalculationRun, PendingImport, with_run
from fanion.cohorts.store import CRITERIA
from fanion.db.engine import Records
from fanion.db.lease import LeaseLost, is_free
from fanion.db.schema.cohorts import AWAITED, cohort_imports, cohort_people, cohorts
from fanion.db.schema.persons import person_keys
from fanion.persons.state.store import ids_by_uuid

_cohort = cohorts.c
_import = cohort_imports.c
_member = cohort_people.c
_key = person_keys.c
_CLAIMED = (
    *CRITERIA,
    _cohort.project_id,
    _cohort.version,
    _cohort.requested,
    _cohort.deleted,
    _cohort.errors_calculating,
)

_RELEASED = {"lease": None, "lease_until": None}

ERROR_CHARS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class CohortClaim(NextVersion):
    """A cohort that was claimed for a calculation.

    Attributes:
        lease: Names the holder.
    """

    criteria: Criteria
    deleted: bool
    errors_calculating: int
    lease: str


@dataclass(frozen=True, slots=True)
class CohortLeaseStore:
    records: Records
    lease_s: float

    async def claim_cohort(self, now: datetime, lease: str) -> CohortClaim | None:
        """Claim the cohort that has been due longest, or return None if none is due.

        What an interrupted calculation of the cohort wrote is undone.
        """
        if not await self.records.fetch(_due(now)):
            return None  # without waiting for the only write transaction
        async with self.records.write() as connection:
            return await connection.run_sync(_claim_cohort, now, lease, self._until(now))

    async def change_members(
        self, claim: CohortClaim, removed: Sequence[int], added: Sequence[UUID], now: datetime
    ) -> None:
        """Write removed and added members under the next version, at most MEMBERS_MAX together.

        Args:
            removed: Ids of persons.
            added: UUIDs of persons; those without a person are skipped.

        Raises:
            LeaseLost: The claim does not hold any more.
        """
        who = ids_by_uuid(claim.project_id, added)
        async with self._holding(claim, now) as connection:
            if removed:
                await connection.run_sync(remove_persons, claim, removed)
            if added:
                await connection.run_sync(add_persons, claim, who)

    async def add_members(
        self, claim: CohortClaim, lookup: PersonLookup, now: datetime
    ) -> Collection[str | UUID]:
        """Add the persons of a lookup, at most MEMBERS_MAX, and return the ids without a person.

        Raises:
            LeaseLost: The claim does not hold any more.
        """
        async with self._holding(claim, now) as connection:
            added = await connection.run_sync(add_persons, claim, lookup.persons)
            if lookup.is_unique and added == len(lookup.ids):
                return ()
            unmatched = set(lookup.ids)
            for statement in lookup.known:
                unmatched.difference_update(await connection.scalars(statement))
            return unmatched

    async def copy_members(
        self, claim: CohortClaim, source: PendingImport, after: int, now: datetime
    ) -> int | None:
        """Copy the next members of another cohort, those after the person `after`.

        Returns:
            The last person that was copied, or None when there are no more.

        Raises:
            LeaseLost: The claim does not hold any more.
        """
        async with self._holding(claim, now) as connection:
            return await connection.run_sync(_copy_members, claim, source, after)

    async def renew_lease(self, claim: CohortClaim, now: datetime) -> None:
        """Renew the lease.

        Raises:
            LeaseLost: The claim does not hold any more.
        """
        async with self._holding(claim, now):
            pass

    async def publish_version(
        self,
        claim: CohortClaim,
        now: datetime,
        again_at: datetime | None,
        run: CalculationRun,
        imports: Sequence[int] = (),
    ) -> int:
        """Make the calculated version current and return its number of members.

        Args:
            again_at: When the cohort is due again, unless a calculation was requested meanwhile.
            run: The run without the number of members.
            imports: Ids of the imports that are done.

        Raises:
            LeaseLost: The claim does not hold any more.
        """
        async with self._holding(claim, now) as connection:
            return await connection.run_sync(
                _finish_calculation, claim, now, again_at, run, imports
            )

    async def record_failure(
        self, claim: CohortClaim, message: str, again_at: datetime | None, run: CalculationRun
    ) -> None:
        """Count the failure; members and pending imports stay as they are."""
        async with self.records.write() as connection:
            await connection.run_sync(_record_failure, claim, message, again_at, run)

    async def release_lease(self, claim: CohortClaim) -> None:
        """Release the lease, so that another server can claim the cohort at once."""
        async with self.records.write() as connection:
            await connection.execute(update(cohorts).where(_holds(claim)).values(**_RELEASED))

    async def postpone(self, claim: CohortClaim, until: datetime) -> None:
        """Release the lease and postpone the work while a store is down, which is not a failure."""
        due_at = case((_cohort.requested == claim.version, until), else_=_cohort.due_at)
        async with self.records.write() as connection:
            await connection.execute(
                update(cohorts).where(_holds(claim)).values(**_RELEASED, due_at=due_at)
            )

    async def delete_old_rows(self, cohort_id: int) -> bool:
        """Delete some rows that belong to no current version and to no pending copy.

        Returns:
            Whether there may be more.
        """
        gone = (
            select(_member.person_id)
            .join(cohorts, _cohort.id == _member.cohort_id)
            .where(_member.cohort_id == cohort_id, _member.removed <= _cohort.version)
            .where(~_waiting_copies(_import.source_version < _member.removed))
            .limit(MEMBERS_MAX)
        )
        async with self.records.write() as connection:
            done = await connection.execute(
                delete(cohort_people).where(
                    _member.cohort_id == cohort_id, _member.person_id.in_(gone)
                )
            )
            return done.rowcount == MEMBERS_MAX

    @asynccontextmanager
    async def _holding(self, claim: CohortClaim, now: datetime) -> AsyncGenerator[AsyncConnection]:
        """Open a transaction that has renewed the lease.

        Raises:
            LeaseLost: The claim does not hold any more.
        """
        renewed = update(cohorts).where(_holds(claim)).values(lease_until=self._until(now))
        async with self.records.write() as connection:
            done = await connection.execute(renewed)
            if done.rowcount != 1:
                raise LeaseLost
            yield connection

    def _until(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.lease_s)


def _waiting_copies(*conditions: ColumnElement[bool]) -> Exists:
    """Return the condition that another cohort has a pending import of this cohort's members."""
    copies = select(_import.id).where(_import.source_id == _cohort.id)
    return copies.where(_import.cohort_id.is_not(None), *conditions).exists()


def _holds(claim: CohortClaim) -> ColumnElement[bool]:
    return (_cohort.id == claim.cohort_id) & (_cohort.lease == claim.lease)


def _due(now: datetime) -> Select[Any]:
    copy = cohorts.alias("copy")
    # Pending copies come first: a calculation may change the rows of the version to be copied.
    copied_first = (copy.c.id == _import.cohort_id) & copy.c.due_at.is_not(None)
    return (
        select(_cohort.id)
        .where(_cohort.due_at <= now, is_free(_cohort.lease_until, now))
        .where(~_waiting_copies(copied_first, copy.c.errors_calculating == 0))
        .order_by(_cohort.due_at, _cohort.id)
        .limit(1)
    )


def _claim_cohort(
    connection: Connection, now: datetime, lease: str, until: datetime
) -> CohortClaim | None:
    row = connection.execute(_due(now).with_for_update(skip_locked=True)).first()
    if row is None:
        return None
    cohort = connection.execute(
        update(cohorts)
        .where(_cohort.id == row.id)
        .values(lease=lease, lease_until=until, requested=_cohort.requested + 1)
        .returning(*_CLAIMED)
    ).one()
    claim = CohortClaim(
        cohort_id=cohort.id,
        project_id=cohort.project_id,
        current=cohort.version,
        version=cohort.requested,
        criteria=Criteria(*cohort[: len(CRITERIA)]),
        deleted=cohort.deleted,
        errors_calculating=cohort.errors_calculating,
        lease=lease,
    )
    forget_unfinished(connection, claim)
    return claim


def _copy_members(
    connection: Connection, claim: CohortClaim, source: PendingImport, after: int
) -> int | None:
    person_ids = connection.scalars(
        select(_member.person_id)
        .where(_member.cohort_id == source.source_id, _member.person_id > after)
        .where(is_seen(source.source_version or 0))
        .order_by(_member.person_id)
        .limit(MEMBERS_MAX)
    ).all()
    if not person_ids:
        return None
    who = select(_key.person_id).where(_key.person_id.in_(person_ids))
    add_persons(connection, claim, who)
    last: int = person_ids[-1]
    return last


def _finish_calculation(
    connection: Connection,
    claim: CohortClaim,
    now: datetime,
    again_at: datetime | None,
    run: CalculationRun,
    imports: Sequence[int],
) -> int:
    awaited = (_member.cohort_id == claim.cohort_id) & (_member.added == AWAITED)
    connection.execute(update(cohort_people).where(awaited).values(added=claim.version))
    members = connection.scalar(
        select(func.count())
        .select_from(cohort_people)
        .where(_member.cohort_id == claim.cohort_id, is_seen(claim.version))
    )
    connection.execute(
        update(cohorts)
        .where(_holds(claim))
        .values(
            version=claim.version,
            count=members,
            last_calculation=now,
            errors_calculating=0,
            last_error_message=None,
            last_run=_history_with(connection, claim, structs.replace(run, members=members)),
            **_released(claim, again_at),
        )
    )
    if imports:
        drop_imports(connection, _import.id.in_(imports))
    return members or 0


def _record_failure(
    connection: Connection,
    claim: CohortClaim,
    message: str,
    again_at: datetime | None,
    run: CalculationRun,
) -> None:
    stored = _storable(message)[:ERROR_CHARS_MAX]
    connection.execute(
        update(cohorts)
        .where(_holds(claim))
        .values(
            errors_calculating=_cohort.errors_calculating + 1,
            last_error_message=stored,
            last_run=_history_with(connection, claim, structs.replace(run, error=stored)),
            **_released(claim, again_at),
        )
    )


def _history_with(
    connection: Connection, claim: CohortClaim, run: CalculationRun
) -> dict[str, Any]:
    stored = connection.scalar(select(_cohort.last_run).where(_cohort.id == claim.cohort_id))
    return with_run(stored, structs.replace(run, number=claim.version))


def _storable(message: str) -> str:
    """Remove NUL and lone surrogates, which criteria may contain and PostgreSQL refuses."""
    return message.replace("\0", "").encode("utf-8", "replace").decode()


def _released(claim: CohortClaim, again_at: datetime | None) -> dict[str, Any]:
    """Return the columns that release the lease; a cohort that was changed meanwhile stays due."""
    unchanged = _cohort.requested == claim.version
    return {
        **_RELEASED,
        "is_calculating": case(
            (unchanged | _cohort.due_at.is_(None), False), else_=_cohort.is_calculating
        ),
        "due_at": case((unchanged, again_at), else_=_cohort.due_at),
    }
