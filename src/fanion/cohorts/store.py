"""Cohorts in the records store: reading, creating and changing them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from msgspec.structs import asdict
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    func,
    insert,
    select,
    update,
)

from fanion.actions.references import named_actions
from fanion.activity.model import ActivityRecord, Author, Change, changed_fields
from fanion.cohorts.criteria.definition import Criteria, behavioral_ids
from fanion.cohorts.imports.store import add_import
from fanion.cohorts.members.store import (
    clear_members,
    forget_unfinished,
    is_seen,
    next_version,
)
from fanion.cohorts.model import (
    CohortQuery,
    LockedCohort,
    MembersImport,
    PlainCohort,
    StoredCohort,
    StoredRuns,
)
from fanion.db.engine import Records
from fanion.db.schema.cohorts import (
    cohort_imports,
    cohort_people,
    cohorts,
)
from fanion.db.schema.tables import users
from fanion.errors import Invalid, NotFound, Unavailable
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY
from fanion.projects.store import move_flag_version
from fanion.webhooks.outbox_store import record_and_enqueue

# Fields whose changes are recorded in the activity log; results of calculations are not.
RECORDED = PlainCohort.__struct_fields__

READ_IDS_MAX = 1_000  # ids in one statement: both engines limit its parameters

_cohort = cohorts.c
CRITERIA = tuple(_cohort[field.name] for field in fields(Criteria))
_COLUMNS = tuple(name for name in StoredCohort.__struct_fields__ if name != "created_by")


@dataclass(frozen=True, slots=True)
class CohortStore:
    """The reading of cohorts in the records store."""

    records: Records

    async def find_cohorts(
        self, project_id: int, query: CohortQuery, limit: int, offset: int
    ) -> tuple[Sequence[StoredCohort], int]:
        """Return a page of matching cohorts, newest first, and their total."""
        matching = and_(*_conditions(project_id, query))
        if query.search or query.no_behavioral:
            return await self._filtered(project_id, query, matching, limit, offset)
        rows = _newest_first(_select_cohorts().where(matching)).limit(limit).offset(offset)
        async with self.records.read() as connection:
            total = await connection.scalar(
                select(func.count()).select_from(cohorts).where(matching)
            )
            return [_stored_cohort(row) for row in await connection.execute(rows)], total or 0

    async def _filtered(
        self,
        project_id: int,
        query: CohortQuery,
        matching: ColumnElement[bool],
        limit: int,
        offset: int,
    ) -> tuple[Sequence[StoredCohort], int]:
        """Apply in Python the conditions that the engines compare differently or not at all."""
        names = _newest_first(select(_cohort.id, _cohort.name).where(matching))
        async with self.records.read() as connection:
            left_out: Collection[int] = ()
            if query.no_behavioral:
                left_out = behavioral_ids(await connection.run_sync(all_criteria, project_id))
            ids = [
                row.id
                for row in await connection.execute(names)
                if row.id not in left_out and query.matches_name(row.name)
            ]
            page_ids, by_id = ids[offset : offset + limit], dict[int, StoredCohort]()
            for start in range(0, len(page_ids), READ_IDS_MAX):
                some = _cohort.id.in_(page_ids[start : start + READ_IDS_MAX])
                for row in await connection.execute(_select_cohorts().where(some)):
                    by_id[row.id] = _stored_cohort(row)
            return [by_id[cohort_id] for cohort_id in page_ids], len(ids)

    async def get_cohort(self, project_id: int, cohort_id: int) -> StoredCohort | None:
        """Return the cohort, even if it is deleted."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_cohort, project_id, cohort_id)

    async def cohorts_of_person(self, project_id: int, person_id: int) -> Sequence[StoredCohort]:
        """Return the cohorts that had the person at their last calculation, newest first.

        Deleted cohorts are left out.
        """
        mine = (
            select(cohort_people.c.cohort_id)
            .join(cohorts, _cohort.id == cohort_people.c.cohort_id)
            .where(_cohort.project_id == project_id, cohort_people.c.person_id == person_id)
            .where(is_seen(_cohort.version))
        )
        rows = _select_cohorts().where(_cohort.id.in_(mine), _cohort.deleted.is_(False))
        return [_stored_cohort(row) for row in await self.records.fetch(_newest_first(rows))]

    async def load_runs(self, project_id: int, cohort_id: int) -> StoredRuns:
        """Return the history of a cohort's calculations and imports as it is stored.

        `read_runs` and `last_successful_run` parse it.
        """
        mine = (_cohort.project_id == project_id, _cohort.id == cohort_id)
        async with self.records.read() as connection:
            stored: StoredRuns = await connection.scalar(select(_cohort.last_run).where(*mine))
            return stored

    async def load_criteria(self, project_id: int) -> Mapping[int, Criteria]:
        """Return the criteria of the project's cohorts by id, including deleted cohorts."""
        async with self.records.read() as connection:
            return await connection.run_sync(all_criteria, project_id)


def _conditions(project_id: int, query: CohortQuery) -> list[ColumnElement[bool]]:
    """Return the conditions that both engines compare alike."""
    conditions = [_cohort.project_id == project_id, _cohort.deleted.is_(query.deleted)]
    if query.is_static is not None:
        conditions.append(_cohort.is_static.is_(query.is_static))
    if query.creator_id is not None:
        conditions.append(_cohort.created_by_id == query.creator_id)
    return conditions


def _newest_first(rows: Select[Any]) -> Select[Any]:
    return rows.order_by(_cohort.created_at.desc(), _cohort.id.desc())


def get_cohort(connection: Connection, project_id: int, cohort_id: int) -> StoredCohort | None:
    statement = _select_cohorts().where(_cohort.project_id == project_id, _cohort.id == cohort_id)
    row = connection.execute(statement).first()
    return None if row is None else _stored_cohort(row)


def all_criteria(connection: Connection, project_id: int) -> Mapping[int, Criteria]:
    rows = connection.execute(select(*CRITERIA).where(_cohort.project_id == project_id))
    return {row.id: Criteria(*row) for row in rows}


def live_criteria(connection: Connection, project_id: int) -> Sequence[Criteria]:
    """Return the criteria of the project's cohorts that are not deleted, ordered by id."""
    rows = connection.execute(
        select(*CRITERIA)
        .where(_cohort.project_id == project_id, _cohort.deleted.is_(False))
        .order_by(_cohort.id)
    )
    return [Criteria(*row) for row in rows]


def cohorts_using(connection: Connection, project_id: int, action_id: int) -> Sequence[str]:
    """Return the cohorts of a project that name an action, as `cohort "Payers"`."""
    return [
        f'cohort "{criteria.name or criteria.id}"'
        for criteria in live_criteria(connection, project_id)
        if action_id in named_actions([criteria.filters, criteria.groups])
    ]


def create_cohort(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    members: MembersImport | None = None,
    is_recorded: bool = True,
) -> StoredCohort:
    """Create a cohort and move the project's flag version, in the caller's transaction.

    Args:
        values: Values by column, without the project.
        is_recorded: Whether the activity log records it.
    """
    project_id = author.project_id
    statement = insert(cohorts).values(
        project_id=project_id, created_by_id=author.user_id, created_at=author.now, **values
    )
    cohort_id = connection.execute(statement.returning(_cohort.id)).scalar_one()
    add_import(connection, author, cohort_id, members)
    created = get_cohort(connection, project_id, cohort_id)
    assert created is not None
    if is_recorded:
        record_activity(connection, author, created, "created")
        _record_import(connection, author, created, members)
    move_flag_version(connection, project_id)
    return created


def lock_cohort(connection: Connection, project_id: int, cohort_id: int) -> LockedCohort:
    """Lock a cohort for the rest of the caller's transaction, and return it.

    Raises:
        NotFound: The project has no such cohort.
    """
    connection.execute(select(_cohort.id).where(_cohort.id == cohort_id).with_for_update())
    cohort = get_cohort(connection, project_id, cohort_id)
    if cohort is None:
        raise NotFound
    waiting = select(cohort_imports.c.id).where(cohort_imports.c.cohort_id == cohort_id)
    waits = connection.scalar(select(waiting.exists())) or False
    return LockedCohort(**asdict(cohort), waits=waits)


def lock_static_cohort(
    connection: Connection, author: Author, cohort_id: int, refusal: str
) -> StoredCohort:
    """Lock the static cohort and return it.

    Raises:
        NotFound: The project has no such cohort.
        Invalid: The cohort is not static.
        Unavailable: Members are being imported.
    """
    own = (_cohort.project_id == author.project_id) & (_cohort.id == cohort_id)
    row = connection.execute(select(_cohort.lease_until).where(own).with_for_update()).first()
    cohort = get_cohort(connection, author.project_id, cohort_id)
    if row is None or cohort is None:
        raise NotFound
    if not cohort.is_static:
        raise Invalid(refusal)
    if row.lease_until is not None and row.lease_until > author.now:
        raise Unavailable("Members of this cohort are being imported. Please retry.")
    if cohort.requested > cohort.version:
        forget_unfinished(connection, next_version(cohort))
    return cohort


def write_cohort(
    connection: Connection,
    author: Author,
    before: LockedCohort,
    values: Mapping[str, Any],
    members: MembersImport | None = None,
) -> StoredCohort:
    """Change a cohort and move the project's flag version, in the caller's transaction.

    Args:
        values: Values by column.
        members: Ignored unless the cohort is static after the change.
    """
    if values:
        connection.execute(update(cohorts).where(_cohort.id == before.id).values(**values))
    if values.get("is_static", before.is_static) is not before.is_static:
        clear_members(connection, before.id)
    after = get_cohort(connection, author.project_id, before.id)
    assert after is not None
    if after.is_static:
        add_import(connection, author, before.id, members)
    differing = changed_fields("Cohort", asdict(before), asdict(after), RECORDED)
    record_activity(connection, author, after, "updated", differing)
    _record_import(connection, author, after, members)
    move_flag_version(connection, author.project_id)
    return after


def _record_import(
    connection: Connection, author: Author, cohort: StoredCohort, members: MembersImport | None
) -> None:
    """Record that a file was uploaded; how many rows match is not known yet."""
    if members is not None and members.upload_id is not None and cohort.is_static:
        record_activity(connection, author, cohort, "imported")


def record_activity(
    connection: Connection,
    author: Author,
    cohort: StoredCohort,
    activity: str,
    differing: Sequence[Change] | None = None,
) -> None:
    """Record an activity of a cohort for the activity log and for webhooks.

    Args:
        differing: The changed fields; None where there is nothing to compare.
    """
    entry = ActivityRecord(
        author=author,
        scope="Cohort",
        item_id=str(cohort.id),
        activity=activity,
        name=cohort.name or "",
        changes=differing,
    )
    record_and_enqueue(connection, entry)


def _select_cohorts() -> Select[Any]:
    return select(*(_cohort[name] for name in _COLUMNS), *USER_SUMMARY).select_from(
        cohorts.outerjoin(users, users.c.id == _cohort.created_by_id)
    )


def _stored_cohort(row: Row[Any]) -> StoredCohort:
    values = row._asdict()
    return StoredCohort(created_by=user_summary(row), **{name: values[name] for name in _COLUMNS})
