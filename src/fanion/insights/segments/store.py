"""Segments in the records store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.insights import segments
from fanion.db.schema.tables import projects, users
from fanion.errors import Invalid, NotFound
from fanion.insights.query import InsightQuery, conditions_of
from fanion.insights.segments.conditions import (
    parse_own_conditions,
    segments_among,
    with_segments,
)
from fanion.insights.segments.model import (
    SEGMENTS_MAX,
    PlainSegment,
    SegmentRecord,
    no_such_segment,
)
from fanion.projects.model import user_summary
from fanion.projects.organizations.store import USER_SUMMARY
from fanion.properties.filters import ConditionGroup, Node, leaves

# Fields whose changes are recorded in the activity log.
RECORDED = (*PlainSegment.__struct_fields__, "deleted")

_Query = TypeVar("_Query", bound=InsightQuery)

_segment = segments.c
_COLUMNS = tuple(name for name in SegmentRecord.__struct_fields__ if name != "created_by")


@dataclass(frozen=True, slots=True)
class SegmentSelection:
    """The segments to list.

    Attributes:
        search: Part of the name, regardless of the case of ASCII letters.
        deleted: Whether to list the deleted segments, and not the others.
    """

    search: str = ""
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class SegmentStore:
    """The reading of segments."""

    records: Records

    async def list_segments(
        self, project_id: int, query: SegmentSelection, limit: int, offset: int
    ) -> tuple[Sequence[SegmentRecord], int]:
        """Return a page of the project's segments, ordered by name, and their total number."""
        conditions = _conditions(project_id, query)
        count = select(func.count()).select_from(segments).where(*conditions)
        rows = _select_segments().where(*conditions).order_by(_segment.name, _segment.id)
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            page = await connection.execute(rows.limit(limit).offset(offset))
            return [_segment_of(row) for row in page], total or 0

    async def get_segment(self, project_id: int, segment_id: int) -> SegmentRecord:
        """Return a segment, deleted or not, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(get_segment, project_id, segment_id)


async def resolve_segments(records: Records, project_id: int, query: _Query) -> _Query:
    """Return the question with the conditions of its segments in place of their ids.

    Raises:
        Invalid: There is no such segment, or there are too many segments or conditions.
        RecordsUnavailable: The records store does not answer.
    """
    found = await _load_conditions(records, project_id, segments_among(conditions_of(query)))
    return with_segments(query, found) if found else query


async def require_segments(records: Records, project_id: int, conditions: Node | None) -> None:
    """Raise Invalid if conditions name a segment that does not exist, or too many segments."""
    if conditions is not None:
        await _load_conditions(records, project_id, segments_among(leaves(conditions)))


async def _load_conditions(
    records: Records, project_id: int, named: Mapping[int, str]
) -> Mapping[int, ConditionGroup]:
    """Return the conditions of segments by id.

    Args:
        named: The place in the request of each id.

    Raises:
        Invalid: There is no such segment.
    """
    if not named:
        return {}
    live = _conditions(project_id, SegmentSelection())
    rows = await records.fetch(
        select(_segment.id, _segment.properties).where(*live, _segment.id.in_(named))
    )
    found = {row.id: parse_own_conditions(row.properties) for row in rows}
    for segment_id, place in named.items():
        if segment_id not in found:
            raise no_such_segment(segment_id, place or None)
    return found


def all_segments(connection: Connection, project_id: int) -> Sequence[SegmentRecord]:
    """Return the segments of a project that are not deleted, in the order of their ids."""
    rows = _select_segments().where(_segment.project_id == project_id, _segment.deleted.is_(False))
    return [_segment_of(row) for row in connection.execute(rows.order_by(_segment.id))]


def get_segment(
    connection: Connection, project_id: int, segment_id: int, *, for_update: bool = False
) -> SegmentRecord:
    """Return a segment, deleted or not, or raise NotFound."""
    this = (_segment.project_id == project_id) & (_segment.id == segment_id)
    if for_update:
        connection.execute(select(_segment.id).where(this).with_for_update())
    row = connection.execute(_select_segments().where(this)).first()
    if row is None:
        raise NotFound
    return _segment_of(row)


def create_segment(
    connection: Connection, author: Author, values: Mapping[str, Any]
) -> SegmentRecord:
    """Create a segment.

    Args:
        values: The fields of a PlainSegment.

    Raises:
        Invalid: There is a segment with this name, or the project has too many of them.
    """
    _require_free_name(connection, author.project_id, values["name"])
    live = _conditions(author.project_id, SegmentSelection())
    count = connection.scalar(select(func.count()).select_from(segments).where(*live))
    if (count or 0) >= SEGMENTS_MAX:
        raise Invalid(f"A project can have at most {SEGMENTS_MAX} segments.")
    statement = insert(segments).values(
        project_id=author.project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        **{"deleted": False, **values},
    )
    segment_id = connection.execute(statement.returning(_segment.id)).scalar_one()
    created = get_segment(connection, author.project_id, segment_id)
    _record(connection, author, None, created)
    return created


def write_segment(
    connection: Connection, author: Author, before: SegmentRecord, values: Mapping[str, Any]
) -> SegmentRecord:
    """Change a locked segment.

    Raises:
        Invalid: Another segment has the new name, or that of a segment to restore.
    """
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    is_live = not differing.get("deleted", before.deleted)
    if is_live and ("name" in differing or before.deleted):
        name = differing.get("name", before.name)
        _require_free_name(connection, author.project_id, name)
    this = update(segments).where(_segment.id == before.id)
    connection.execute(this.values(**differing, updated_at=author.now))
    after = get_segment(connection, author.project_id, before.id)
    _record(connection, author, before, after)
    return after


def _require_free_name(connection: Connection, project_id: int, name: str) -> None:
    """Raise Invalid if a segment has this name; until the transsegment ends, none is given it."""
    connection.execute(select(projects.c.id).where(projects.c.id == project_id).with_for_update())
    live = _conditions(project_id, SegmentSelection())
    taken = connection.scalar(select(_segment.id).where(*live, _segment.name == name))
    if taken is not None:
        detail = f"This project already has a segment with this name, ID {taken}"
        raise Invalid(detail, code="unique", attr="name")


def _record(
    connection: Connection, author: Author, before: SegmentRecord | None, after: SegmentRecord
) -> None:
    former = None if before is None else _state(before)
    record_activity(connection, item_record(author, "Segment", former, _state(after)))


def _state(segment: SegmentRecord) -> ItemState:
    fields = {name: getattr(segment, name) for name in RECORDED}
    return ItemState(str(segment.id), segment.name, fields)


def _conditions(project_id: int, query: SegmentSelection) -> list[ColumnElement[bool]]:
    conditions = [_segment.project_id == project_id, _segment.deleted.is_(query.deleted)]
    if query.search:
        name = func.lower(_segment.name)
        conditions.append(name.contains(query.search.lower(), autoescape=True))
    return conditions


def _select_segments() -> Select[Any]:
    return select(*(_segment[name] for name in _COLUMNS), *USER_SUMMARY).select_from(
        segments.outerjoin(users, users.c.id == _segment.created_by_id)
    )


def _segment_of(row: Row[Any]) -> SegmentRecord:
    values = {name: getattr(row, name) for name in _COLUMNS}
    return SegmentRecord(created_by=user_summary(row), **values)
