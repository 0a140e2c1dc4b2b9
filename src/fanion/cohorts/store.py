"""Cohorts in the records store: reading, creating and changing them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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

from fanion.activity.model import ActivityRecord, Author, Change, changed_fields
from fanion.cohorts.criteria.definition import Criteria, behavioral_ids
from fanion.cohorts.import_store import add_import
from fanion.cohorts.members_store import clear_members, is_seen
from fanion.cohorts.model import CohortQuery, CohortState, MembersImport, StoredCohort, StoredRuns
from fanion.cohorts.validation import changes_audience
from fanion.db.engine import Records
from fanion.db.schema.cohorts import (
    cohort_imports,
    cohort_people,
    cohorts,
)
from fanion.db.schema.tables import users
from fanion.errors import Invalid
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY
from fanion.projects.store import move_flag_version
from fanion.webhooks.outbox_store import record_and_enqueue

# Fields whose changes are recorded in the activity log; results of calculations are not.
COMPARED = ("name", "description", "filters", "groups", "is_static", "deleted")

READ_IDS_MAX = 1_000  # ids in one statement: both engines limit its parameters
FLAGS_NAMED_MAX = 20  # in the error that refuses a deletion

_READ_BY_FLAGS = frozenset({"filters", "groups", "is_static", "deleted"})

_cohort = cohorts.c
CRITERIA = (_cohort.id, _cohort.name, _cohort.is_static, _cohort.filters, _cohort.groups)
_COLUMNS = (
    "project_id",
    "description",
    "deleted",
    "is_calculating",
    "count",
    "last_calculation",
    "errors_calculating",
    "last_error_message",
    "created_at",
    "version",
    "requested",
)


# Maps the state of a cohort, and all cohorts of its project by id, to the columns to set.
Decide = Callable[[CohortState, Mapping[int, Criteria]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class FlagChecks:
    """Rules about the flags that use a cohort, checked in the transaction that changes the cohort.

    The functions come from the package of flags, which is built on this one.

    Attributes:
        broken: Returns the keys of a project's flags that a cohort makes impossible to evaluate,
            each with the reason.
        require_edit: Raises PermissionDenied if the author may not edit the flags that use the
            cohort.
        using: Returns the keys of a project's active flags that use a cohort.
    """

    broken: Callable[[Connection, int], Mapping[str, str]]
    require_edit: Callable[[Connection, Author, int], None]
    using: Callable[[Connection, int, int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class CohortStore:
    """The cohorts in the records store.

    Every change moves the project's flag version in the same transaction.
    """

    records: Records
    flags: FlagChecks

    async def find_cohorts(
        self, project_id: int, query: CohortQuery, limit: int, offset: int
    ) -> tuple[Sequence[StoredCohort], int]:
        """Return a page of matching cohorts that are not deleted, newest first, and their total."""
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

    async def create_cohort(
        self,
        author: Author,
        values: Mapping[str, Any],
        members: MembersImport | None = None,
        *,
        is_recorded: bool = True,
    ) -> StoredCohort:
        """Create a cohort.

        Args:
            values: Values by column, without the project.
            is_recorded: Whether the activity log records it.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(create_cohort, author, values, members, is_recorded)

    async def change_cohort(
        self, author: Author, cohort_id: int, decide: Decide, members: MembersImport | None = None
    ) -> StoredCohort | None:
        """Change a cohort and return it, or None if it does not exist.

        Args:
            members: Ignored unless the cohort is static after the change.

        Raises:
            Invalid: `decide` refuses the change, or it would break flags that use the cohort, or
                delete a cohort that flags use.
            PermissionDenied: The author may not edit the flags that use the cohort.
        """
        async with self.records.write() as connection:
            return await connection.run_sync(
                self._change_cohort, author, cohort_id, decide, members
            )

    def _change_cohort(
        self,
        connection: Connection,
        author: Author,
        cohort_id: int,
        decide: Decide,
        members: MembersImport | None,
    ) -> StoredCohort | None:
        before: Mapping[str, str] | None = None
        is_guarded = False
        deletes = False

        def decide_and_check(
            state: CohortState, others: Mapping[int, Criteria]
        ) -> Mapping[str, Any]:
            nonlocal before, is_guarded, deletes
            values = decide(state, others)
            deletes = bool(values.get("deleted")) and not state.deleted
            is_guarded = changes_audience(values, state, imports=members is not None)
            if values.keys() & _READ_BY_FLAGS:
                before = self.flags.broken(connection, author.project_id)
            return values

        changed = change_cohort(connection, author, cohort_id, decide_and_check, members)
        # The flag version has moved: no other transaction can change the flags until this one ends.
        if is_guarded:
            self.flags.require_edit(connection, author, cohort_id)
        if deletes:
            _require_unused(self.flags.using(connection, author.project_id, cohort_id))
        if before is None:
            return changed
        after = self.flags.broken(connection, author.project_id)
        broken = [f"{key} ({after[key]})" for key in after if key not in before]
        if broken:
            raise Invalid(
                f"This change would break feature flags that use the cohort: {', '.join(broken)}.",
                attr="filters",
            )
        return changed


def _require_unused(keys: Sequence[str]) -> None:
    """Raise Invalid if flags use the cohort.

    Source: cohorts.md section 17.
    """
    if keys:
        more = len(keys) - FLAGS_NAMED_MAX
        named = ", ".join(keys[:FLAGS_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
        raise Invalid(
            f"This cohort is used in {len(keys)} active feature flag(s): {named}. "
            "Please remove the cohort from these feature flags before deleting it."
        )


def _conditions(project_id: int, query: CohortQuery) -> list[ColumnElement[bool]]:
    """Return the conditions that both engines compare alike."""
    conditions = [_cohort.project_id == project_id, _cohort.deleted.is_(False)]
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


def create_cohort(
    connection: Connection,
    author: Author,
    values: Mapping[str, Any],
    members: MembersImport | None = None,
    is_recorded: bool = True,
) -> StoredCohort:
    """Create a cohort in the caller's transaction.

    The arguments are those of `CohortStore.create_cohort`.
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
        _record_change(connection, author, created, None)
        _record_import(connection, author, created, members)
    move_flag_version(connection, project_id)
    return created


def change_cohort(
    connection: Connection,
    author: Author,
    cohort_id: int,
    decide: Decide,
    members: MembersImport | None = None,
) -> StoredCohort | None:
    """Change a cohort in the caller's transaction, without checking the flags that use it.

    The other arguments are those of `CohortStore.change_cohort`.
    """
    project_id = author.project_id
    connection.execute(select(_cohort.id).where(_cohort.id == cohort_id).with_for_update())
    before = get_cohort(connection, project_id, cohort_id)
    if before is None:
        return None
    state = _state_of(connection, before)
    values = decide(state, all_criteria(connection, project_id))
    if values:
        connection.execute(update(cohorts).where(_cohort.id == cohort_id).values(**values))
    if values.get("is_static", before.criteria.is_static) is not before.criteria.is_static:
        clear_members(connection, cohort_id)
    after = get_cohort(connection, project_id, cohort_id)
    assert after is not None
    if after.criteria.is_static:
        add_import(connection, author, cohort_id, members)
    _record_change(connection, author, after, before)
    _record_import(connection, author, after, members)
    move_flag_version(connection, project_id)
    return after


def _state_of(connection: Connection, before: StoredCohort) -> CohortState:
    waiting = select(cohort_imports.c.id).where(cohort_imports.c.cohort_id == before.id)
    waits = connection.scalar(select(waiting.exists())) or False
    return CohortState(before.criteria, before.deleted, before.requested, waits)


def _record_change(
    connection: Connection, author: Author, after: StoredCohort, before: StoredCohort | None
) -> None:
    if before is None:
        record_activity(connection, author, after, "created")
    else:
        differing = changed_fields("Cohort", before.compared(), after.compared(), COMPARED)
        record_activity(connection, author, after, "updated", differing)


def _record_import(
    connection: Connection, author: Author, cohort: StoredCohort, members: MembersImport | None
) -> None:
    """Record that a file was uploaded; how many rows match is not known yet."""
    if members is not None and members.upload_id is not None and cohort.criteria.is_static:
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
        name=cohort.criteria.name or "",
        changes=differing,
    )
    record_and_enqueue(connection, entry)


def _select_cohorts() -> Select[Any]:
    return select(
        *CRITERIA,
        *(_cohort[name] for name in _COLUMNS),
        *USER_SUMMARY,
    ).select_from(cohorts.outerjoin(users, users.c.id == _cohort.created_by_id))


def _stored_cohort(row: Row[Any]) -> StoredCohort:
    own, values = row[: len(CRITERIA)], dict(row._mapping)
    return StoredCohort(
        id=row.id,
        criteria=Criteria(*own),
        created_by=user_summary(row),
        **{name: values[name] for name in _COLUMNS},
    )
