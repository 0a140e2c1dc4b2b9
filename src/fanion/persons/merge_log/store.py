"""The log of merges in the records store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, union_all

from fanion.activity.model import Author
from fanion.db.bulk import in_chunks, insert_rows
from fanion.db.engine import Records
from fanion.db.schema.persons import merge_authors, person_merges
from fanion.db.schema.tables import person_distinct_ids, person_overrides, users
from fanion.errors import NotFound
from fanion.persons.merge import Changes, Join
from fanion.persons.merge_log.model import (
    IDS_LISTED_MAX,
    LoggedMerge,
    LoggedSplit,
    MergeEvent,
    MovedIds,
    moved_ids,
)
from fanion.persons.store import get_person
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY

# The log is bounded by time, and by the number of entries of all projects together.
KEPT_FOR: Final = timedelta(days=365)
ENTRIES_MAX: Final = 2_000_000
# Entries deleted in one transaction, for which other writers of SQLite wait.
DELETED_MAX: Final = 1_000

_merge = person_merges.c
_author = merge_authors.c
_link = person_distinct_ids.c
_override = person_overrides.c
_COLUMNS = (
    *("project_id", "created_at", "person", "other_person", "distinct_ids", "distinct_ids_count"),
    *("event_uuid", "event", "distinct_id", "timestamp"),
)


# ── Written by ingestion ─────────────────────────────────────────────────────────────────


def log_merges(connection: Connection, project_id: int, changes: Changes, now: datetime) -> None:
    """Log the merges of a batch, while merged persons still have their distinct ids."""
    if not changes.joins:
        return
    stored = _stored_ids(connection, [merged.person.id for merged in changes.merged])
    rows = [_row(project_id, now, *moved) for moved in moved_ids(changes, stored)]
    insert_rows(connection, person_merges, _COLUMNS, rows)


def _stored_ids(connection: Connection, persons: Sequence[int | None]) -> dict[int, MovedIds]:
    rank = func.row_number().over(partition_by=_link.person_id, order_by=_link.distinct_id)
    count = func.count().over(partition_by=_link.person_id)
    listed: dict[int, list[str]] = {}
    counts: dict[int, int] = {}
    for some in in_chunks(persons):
        ids = select(_link.person_id, _link.distinct_id, rank.label("rank"), count.label("number"))
        ranked = ids.where(_link.person_id.in_(some)).subquery()
        for row in connection.execute(select(ranked).where(ranked.c.rank <= IDS_LISTED_MAX)):
            listed.setdefault(row.person_id, []).append(row.distinct_id)
            counts[row.person_id] = row.number
    return {person: MovedIds(tuple(ids), counts[person]) for person, ids in listed.items()}


def _row(project_id: int, now: datetime, join: Join, moved: MovedIds) -> tuple[Any, ...]:
    command = join.command
    assert command.merge is not None
    return (
        project_id,
        now,
        join.into.uuid,
        None if join.person is None else join.person.uuid,
        list(moved.listed),
        moved.count,
        command.uuid,
        command.merge.kind.value,
        command.distinct_id,
        command.timestamp,
    )


def log_splits(connection: Connection, author: Author, splits: Sequence[LoggedSplit]) -> None:
    """Log distinct ids that a user splits off a person."""
    rows = [
        {
            "project_id": author.project_id,
            "created_at": author.now,
            "person": split.person,
            "other_person": split.new_person,
            "distinct_ids": [split.distinct_id],
            "distinct_ids_count": 1,
            "user_id": author.user_id,
        }
        for split in splits
    ]
    connection.execute(insert(person_merges), rows)


def note_authors(connection: Connection, author: Author, events: Sequence[UUID]) -> None:
    """Note the user who asked for the merges that these events will make."""
    rows = [
        {
            "project_id": author.project_id,
            "event_uuid": event,
            "user_id": author.user_id,
            "created_at": author.now,
        }
        for event in events
    ]
    connection.execute(insert(merge_authors), rows)


# ── Read by the API ──────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class MergeLog:
    """The log of the merges of persons."""

    records: Records

    async def of_person(
        self, project_id: int, person_id: UUID | int, limit: int, offset: int
    ) -> tuple[list[LoggedMerge], int]:
        """Return a page of the entries about a person, the newest first, and their number.

        Raises:
            NotFound: The project has no such person.
        """
        person = await get_person(self.records, project_id, person_id)
        if person is None:
            raise NotFound
        about = _about(project_id, person.uuid)
        statement = (
            select(person_merges, *USER_SUMMARY)
            .select_from(
                person_merges.outerjoin(
                    merge_authors,
                    (_author.project_id == _merge.project_id)
                    & (_author.event_uuid == _merge.event_uuid),
                ).outerjoin(users, users.c.id == func.coalesce(_merge.user_id, _author.user_id))
            )
            .where(about)
            .order_by(_merge.id.desc())
        )
        async with self.records.read() as connection:
            count = select(func.count()).select_from(person_merges).where(about)
            total = await connection.scalar(count)
            rows = (await connection.execute(statement.limit(limit).offset(offset))).all()
        return [_entry(row) for row in rows], total or 0


def _about(project_id: int, person: UUID) -> ColumnElement[bool]:
    merged = select(_override.old_person).where(
        _override.project_id == project_id, _override.new_person == person
    )
    of_project = _merge.project_id == project_id
    splits = select(_merge.id).where(of_project, _merge.event_uuid.is_(None))
    # Each part has an index.
    ids = union_all(
        select(_merge.id).where(of_project, _merge.person == person),
        select(_merge.id).where(of_project, _merge.person.in_(merged)),
        splits.where(_merge.other_person == person),
        splits.where(_merge.other_person.in_(merged)),
    )
    return _merge.id.in_(ids)


def _entry(row: Row[Any]) -> LoggedMerge:
    event = None
    if row.event_uuid is not None:
        event = MergeEvent(
            id=row.event_uuid,
            event=row.event,
            distinct_id=row.distinct_id,
            timestamp=row.timestamp,
        )
    return LoggedMerge(
        id=row.id,
        created_at=row.created_at,
        person=row.person,
        other_person=row.other_person,
        distinct_ids=row.distinct_ids,
        distinct_ids_count=row.distinct_ids_count,
        event=event,
        user=user_summary(row),
    )


# ── Deleted ──────────────────────────────────────────────────────────────────────────────


def forget_persons(connection: Connection, project_id: int, persons: Sequence[UUID]) -> None:
    """Delete the entries about deleted persons, which have their distinct ids.

    The entries of persons that they were split off name these ids too.
    """
    for some in in_chunks(persons):
        _forget_at_others(connection, project_id, some)
        of_project = delete(person_merges).where(_merge.project_id == project_id)
        connection.execute(of_project.where(_merge.person.in_(some)))
        is_split = _merge.event_uuid.is_(None)
        connection.execute(of_project.where(is_split, _merge.other_person.in_(some)))


def _forget_at_others(connection: Connection, project_id: int, persons: Sequence[UUID]) -> None:
    splits = connection.execute(
        select(_merge.person, _merge.distinct_ids)
        .where(_merge.project_id == project_id, _merge.event_uuid.is_(None))
        .where(_merge.other_person.in_(persons))
    ).all()
    for person, ids in splits:
        entries = connection.execute(
            select(_merge.id, _merge.distinct_ids, _merge.distinct_id).where(
                _about(project_id, _survivor(connection, project_id, person))
            )
        )
        naming = [
            entry.id
            for entry in entries
            if entry.distinct_id in ids or not set(ids).isdisjoint(entry.distinct_ids)
        ]
        for some in in_chunks(naming):
            connection.execute(delete(person_merges).where(_merge.id.in_(some)))


def _survivor(connection: Connection, project_id: int, person: UUID) -> UUID:
    became = select(_override.new_person).where(
        _override.project_id == project_id, _override.old_person == person
    )
    return connection.scalar(became) or person


def forget_old(connection: Connection, now: datetime, entries_max: int = ENTRIES_MAX) -> bool:
    """Delete some of the entries that are too old or too many.

    Returns:
        Whether there may be more of them.
    """
    newest = connection.scalar(select(func.max(_merge.id))) or 0
    first = select(_merge.id, _merge.created_at).order_by(_merge.id).limit(DELETED_MAX)
    old = [
        row.id
        for row in connection.execute(first)
        if row.id <= newest - entries_max or row.created_at < now - KEPT_FOR
    ]
    connection.execute(delete(person_merges).where(_merge.id.in_(old)))
    connection.execute(delete(merge_authors).where(_author.created_at < now - KEPT_FOR))
    return len(old) == DELETED_MAX
