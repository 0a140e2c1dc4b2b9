"""The deletion of persons from the records store.

Erasures are recorded until all stores have completed them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Select, delete, insert, or_, select, update

from fanion.activity.model import ActivityRecord, Author
from fanion.activity.store import record_activity
from fanion.db.bulk import upsert
from fanion.db.schema.insights import insight_results
from fanion.db.schema.persons import person_erasures, person_floors
from fanion.db.schema.tables import person_distinct_ids, person_overrides, persons
from fanion.events.event import Erasure, Override
from fanion.persons.merge_log.store import forget_persons
from fanion.persons.state.merge_store import note_lost_members
from fanion.persons.state.pending_identities_store import forget_waiting

UUIDS_MAX = 1_000  # in one statement

_person = persons.c
_link = person_distinct_ids.c
_override = person_overrides.c
_erasure = person_erasures.c
_floor = person_floors.c


def begin_erasure(
    connection: Connection, author: Author, person_id: int, version: int, *, with_events: bool
) -> Erasure | None:
    """Remove a person, its distinct ids and the overrides that lead to it.

    Args:
        version: Drawn for the erasure: attempts at batches have mirrored the person with lower
            ones.

    Returns:
        The erasure to complete; None if there is no such person.
    """
    project_id = author.project_id
    person = connection.execute(
        select(_person.uuid, _person.version)
        .where(_person.project_id == project_id, _person.id == person_id)
        .with_for_update()
    ).first()
    if person is None:
        return None
    distinct_ids = connection.scalars(
        select(_link.distinct_id).where(_link.person_id == person_id)
    ).all()
    merged = connection.scalars(
        select(_override.old_person).where(
            _override.project_id == project_id, _override.new_person == person.uuid
        )
    ).all()
    _remove_person(connection, project_id, person_id, person.uuid)
    forget_waiting(connection, project_id, distinct_ids)
    forget_persons(connection, project_id, (person.uuid, *merged))
    forget_results(connection, project_id)
    record_activity(connection, _deletion_activity(author, person.uuid))
    floor = raise_floor(connection, project_id, max(person.version, version))
    return _record_erasure(
        connection, author, (person.uuid, *merged), distinct_ids, floor, with_events=with_events
    )


def repeat_erasure(connection: Connection, author: Author, former: Erasure, version: int) -> bool:
    """Begin an erasure again after the records were restored from a backup made before it.

    Args:
        author: Names the time of the repetition.
        former: The erasure. It may name distinct ids that these records do not know yet, because
            their events wait in the accept log.
        version: As for `begin_erasure`.

    Returns:
        False if these records already have the erasure.
    """
    same = select(_erasure.id).where(
        _erasure.id == former.id,
        _erasure.project_id == former.project_id,
        _erasure.requested_at == former.requested_at,
    )
    if connection.scalar(same) is not None:
        return False
    uuids, distinct_ids, floor = set(former.persons), set(former.distinct_ids), version
    rows = connection.execute(
        select(_person.id, _person.uuid, _person.version).where(
            _person.project_id == former.project_id, _person.uuid.in_(former.persons)
        )
    ).all()
    for row in rows:
        of_person = select(_link.distinct_id).where(_link.person_id == row.id)
        distinct_ids.update(connection.scalars(of_person))
        _remove_person(connection, former.project_id, row.id, row.uuid)
        record_activity(connection, _deletion_activity(author, row.uuid))
        floor = max(floor, row.version)
    forget_waiting(connection, former.project_id, sorted(distinct_ids))
    forget_persons(connection, former.project_id, sorted(uuids))
    forget_results(connection, former.project_id)
    floor = raise_floor(connection, former.project_id, floor)
    _record_erasure(
        connection, author, sorted(uuids), distinct_ids, floor, with_events=former.with_events
    )
    return True


def load_floors(connection: Connection, project_ids: Sequence[int]) -> dict[int, int]:
    """Return the version above which new persons start, by project with deleted persons.

    The version rises with every deletion.
    """
    statement = select(_floor.project_id, _floor.version).where(_floor.project_id.in_(project_ids))
    return {row.project_id: row.version for row in connection.execute(statement)}


def load_erasures(connection: Connection, project_ids: Sequence[int]) -> dict[int, list[Erasure]]:
    """Return the erasures that ingestion must apply, by project."""
    erasures: dict[int, list[Erasure]] = {}
    statement = _select_erasures().where(_erasure.project_id.in_(project_ids))
    for row in connection.execute(statement):
        erasures.setdefault(row.project_id, []).append(_read_erasure(row))
    return erasures


def unfinished_erasures(connection: Connection) -> list[Erasure]:
    """Return the unfinished erasures of all projects, oldest first."""
    statement = _select_erasures().where(_erasure.finished_at.is_(None)).order_by(_erasure.id)
    return [_read_erasure(row) for row in connection.execute(statement)]


def finish_erasure(connection: Connection, erasure_id: int, now: datetime) -> None:
    project_id = connection.scalar(
        update(person_erasures)
        .where(_erasure.id == erasure_id)
        .values(finished_at=now)
        .returning(_erasure.project_id)
    )
    if project_id is not None:
        forget_results(connection, project_id)


def forget_erasures(connection: Connection, finished_before: datetime) -> None:
    """Delete the records of finished erasures, because they contain distinct ids."""
    connection.execute(delete(person_erasures).where(_erasure.finished_at < finished_before))


def current_overrides(
    connection: Connection, project_id: int, uuids: Sequence[UUID]
) -> list[Override]:
    """Return the overrides of deleted persons that were created later, because they came back."""
    overrides: list[Override] = []
    for start in range(0, len(uuids), UUIDS_MAX):
        some = uuids[start : start + UUIDS_MAX]
        statement = select(_override.old_person, _override.new_person, _override.version).where(
            _override.project_id == project_id,
            or_(_override.old_person.in_(some), _override.new_person.in_(some)),
        )
        overrides += [Override(project_id, *row) for row in _tuples(connection.execute(statement))]
    return overrides


def _tuples(rows: Iterable[Row[Any]]) -> Iterable[tuple[UUID, UUID, int]]:
    return ((row.old_person, row.new_person, row.version) for row in rows)


def _remove_person(connection: Connection, project_id: int, person_id: int, uuid: UUID) -> None:
    """Delete the rows of a person; rows of other tables are deleted by cascade."""
    note_lost_members(connection, [person_id])
    connection.execute(delete(person_distinct_ids).where(_link.person_id == person_id))
    connection.execute(
        delete(person_overrides).where(
            _override.project_id == project_id,
            or_(_override.new_person == uuid, _override.old_person == uuid),
        )
    )
    connection.execute(delete(persons).where(_person.id == person_id))


def forget_results(connection: Connection, project_id: int) -> None:
    """Delete the project's insight results, which may contain a property value of the person."""
    connection.execute(delete(insight_results).where(insight_results.c.project_id == project_id))


def raise_floor(connection: Connection, project_id: int, version: int) -> int:
    """Raise the project's floor above `version` and above its former value."""
    known = connection.scalar(
        select(_floor.version).where(_floor.project_id == project_id).with_for_update()
    )
    raised = max(known or 0, version) + 1
    statement = upsert(connection.dialect, person_floors).values(
        project_id=project_id, version=raised
    )
    connection.execute(
        statement.on_conflict_do_update(index_elements=["project_id"], set_={"version": raised})
    )
    return raised


def _record_erasure(
    connection: Connection,
    author: Author,
    uuids: Sequence[UUID],
    distinct_ids: Iterable[str],
    version: int,
    *,
    with_events: bool,
) -> Erasure:
    ids = frozenset(distinct_ids)
    added = connection.execute(
        insert(person_erasures)
        .values(
            project_id=author.project_id,
            persons=[str(uuid) for uuid in uuids],
            distinct_ids=sorted(ids),
            version=version,
            with_events=with_events,
            requested_at=author.now,
            finished_at=None,
        )
        .returning(_erasure.id)
    )
    return Erasure(
        id=added.scalar_one(),
        project_id=author.project_id,
        persons=tuple(uuids),
        distinct_ids=ids,
        version=version,
        with_events=with_events,
        requested_at=author.now,
    )


def _deletion_activity(author: Author, uuid: UUID) -> ActivityRecord:
    """Return the activity of a deletion, with only the id: the entry outlives the person."""
    return ActivityRecord(
        author=author, scope="Person", item_id=str(uuid), activity="deleted", name=str(uuid)
    )


def _select_erasures() -> Select[Any]:
    return select(
        _erasure.id,
        _erasure.project_id,
        _erasure.persons,
        _erasure.distinct_ids,
        _erasure.version,
        _erasure.with_events,
        _erasure.requested_at,
    )


def _read_erasure(row: Row[Any]) -> Erasure:
    return Erasure(
        id=row.id,
        project_id=row.project_id,
        persons=tuple(map(UUID, row.persons)),
        distinct_ids=frozenset(row.distinct_ids),
        version=row.version,
        with_events=row.with_events,
        requested_at=row.requested_at,
    )
