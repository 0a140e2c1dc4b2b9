"""The members of cohorts in the records store.

This covers the lookup for flags, writing of the next version, and removal of the members of
deleted cohorts. Web workers import this file for the lookup: it must not import the event store.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    delete,
    literal,
    select,
    update,
)

from fanion.cohorts.imports.store import drop_imports
from fanion.cohorts.model import StoredCohort
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.cohorts import AWAITED, NEVER, cohort_imports, cohort_people, cohorts
from fanion.db.schema.persons import person_keys
from fanion.db.schema.tables import ID, person_distinct_ids

# Members in one transaction: SQLite writes them in 20 ms, for which ingestion has to wait.
MEMBERS_MAX = 2_000

_cohort = cohorts.c
_import = cohort_imports.c
_member = cohort_people.c
_key = person_keys.c
_link = person_distinct_ids.c

_MEMBERSHIPS = (
    select(_link.distinct_id, _member.cohort_id)
    .select_from(
        person_distinct_ids.join(cohort_people, _member.person_id == _link.person_id).join(
            cohorts, _cohort.id == _member.cohort_id
        )
    )
    .where(_link.project_id == bindparam("project_id"))
    .where(_link.distinct_id.in_(bindparam("distinct_ids", expanding=True)))
    .where(_cohort.project_id == bindparam("project_id"))
    .where(_member.added <= _cohort.version, _member.removed > _cohort.version)
)


@dataclass(frozen=True, slots=True)
class NextVersion:
    """The version of a cohort's members that is being written.

    Attributes:
        current: The version that is read meanwhile.
    """

    cohort_id: int
    project_id: int
    current: int
    version: int


def next_version(cohort: StoredCohort) -> NextVersion:
    return NextVersion(cohort.id, cohort.project_id, cohort.version, cohort.requested + 1)


def is_seen(version: ColumnElement[int] | int) -> ColumnElement[bool]:
    """Return the condition that a row of `cohort_people` belongs to a version."""
    return (_member.added <= version) & (_member.removed > version)


async def memberships(
    records: Records, keys: Sequence[tuple[int, str]]
) -> Mapping[tuple[int, str], frozenset[int]]:
    """Return the cohorts that had each person at their last calculation.

    Args:
        keys: Pairs of (project id, distinct id).

    Returns:
        Cohort ids by key. Persons in no cohort and distinct ids without a person are absent.
    """
    by_project: dict[int, list[str]] = {}
    for project_id, distinct_id in keys:
        by_project.setdefault(project_id, []).append(distinct_id)
    by_key: dict[tuple[int, str], set[int]] = {}
    for project_id, ids in by_project.items():
        rows = await records.fetch(_MEMBERSHIPS, {"project_id": project_id, "distinct_ids": ids})
        for row in rows:
            by_key.setdefault((project_id, row.distinct_id), set()).add(row.cohort_id)
    return {key: frozenset(cohort_ids) for key, cohort_ids in by_key.items()}


async def stream_members(
    records: Records, project_id: int, cohort_id: int
) -> AsyncGenerator[Sequence[tuple[bytes, int]]]:
    """Yield the current members of a cohort in batches, ordered by UUID.

    Yields:
        Lists of (UUID as bytes, id of the person).
    """
    statement = (
        select(_key.uuid, _key.person_id)
        .join(cohort_people, _member.person_id == _key.person_id)
        .join(cohorts, _cohort.id == _member.cohort_id)
        .where(_cohort.id == cohort_id, _cohort.project_id == project_id)
        .where(_key.project_id == project_id, is_seen(_cohort.version))
        .order_by(_key.uuid)
    )
    async with records.read() as connection:
        rows = await connection.stream(statement)
        async for some in rows.partitions(MEMBERS_MAX):
            yield [(uuid.bytes, person_id) for uuid, person_id in some]


def add_persons(connection: Connection, target: NextVersion, persons: Select[Any]) -> int:
    """Add persons to the next version of a cohort and return how many they are.

    A member of the current version stays one; a former member becomes one again.

    Args:
        persons: Selects the ids of persons, each once.
    """
    chosen = persons.subquery()
    rows = select(
        literal(target.cohort_id, ID),
        chosen.c[0],
        literal(target.project_id, ID),
        literal(target.version, ID),
        literal(NEVER, ID),
    ).where(literal(True))  # SQLite needs a condition before ON CONFLICT
    statement = upsert(connection.dialect, cohort_people).from_select(
        ["cohort_id", "person_id", "project_id", "added", "removed"], rows
    )
    added = case((is_seen(target.current), _member.added), else_=target.version)
    done = connection.execute(
        statement.on_conflict_do_update(
            index_elements=["cohort_id", "person_id"], set_={"added": added, "removed": NEVER}
        )
    )
    return done.rowcount


def remove_persons(connection: Connection, target: NextVersion, person_ids: Sequence[int]) -> int:
    """Remove persons from the next version of a cohort and return how many of them were members."""
    removed = connection.execute(
        update(cohort_people)
        .where(_member.cohort_id == target.cohort_id, _member.person_id.in_(person_ids))
        .where(is_seen(target.current))
        .values(removed=target.version)
    )
    return removed.rowcount


def forget_unfinished(connection: Connection, target: NextVersion) -> None:
    """Undo what an interrupted calculation has written under a version that was not published."""
    own = _member.cohort_id == target.cohort_id
    unseen = (_member.added > target.current) & (_member.added < AWAITED)
    connection.execute(delete(cohort_people).where(own, unseen))
    connection.execute(
        update(cohort_people)
        .where(own, _member.removed > target.current, _member.removed < NEVER)
        .values(removed=NEVER)
    )


def clear_members(connection: Connection, cohort_id: int) -> None:
    """Remove all members of a cohort that becomes static or dynamic.

    A running calculation or import loses its lease and writes nothing more.
    """
    connection.execute(
        update(cohorts).where(_cohort.id == cohort_id).values(lease=None, lease_until=None)
    )
    drop_imports(connection, _import.cohort_id == cohort_id)
    copies = _import.source_id == cohort_id
    waiting = select(_import.id).where(copies, _import.cohort_id.is_not(None))
    if connection.scalar(select(waiting.exists())):
        _hide_members(connection, cohort_id)
    else:
        connection.execute(delete(cohort_people).where(_member.cohort_id == cohort_id))


def _hide_members(connection: Connection, cohort_id: int) -> None:
    """Make an empty version the current one. The rows are deleted once pending copies are done."""
    row = connection.execute(
        select(_cohort.version, _cohort.requested).where(_cohort.id == cohort_id)
    ).one()
    mine, empty = _member.cohort_id == cohort_id, row.requested + 1
    connection.execute(delete(cohort_people).where(mine, _member.added > row.version))
    connection.execute(
        update(cohort_people).where(mine, _member.removed > row.version).values(removed=empty)
    )
    connection.execute(
        update(cohorts).where(_cohort.id == cohort_id).values(version=empty, requested=empty)
    )
