"""Annotations in the records store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, insert, select, update

from fanion.activity.model import Author, ItemState, item_record
from fanion.activity.store import record_activity
from fanion.db.engine import Records
from fanion.db.schema.insights import annotations, dashboards, insights
from fanion.db.schema.tables import projects
from fanion.errors import Invalid, NotFound
from fanion.insights.annotations.model import AnnotationRecord, PlainAnnotation, Scope
from fanion.projects.organizations.store import read_user_summaries

ANNOTATIONS_MAX = 10_000  # in one project
NAME_CHARS_MAX = 100  # of the content, in the activity
_RECORDED = PlainAnnotation.__struct_fields__
_COLUMNS = (*_RECORDED, "id", "created_at", "updated_at")
# The columns that name another item, and its table.
_PLACES: Mapping[str, Table] = {"dashboard_item": insights, "dashboard_id": dashboards}

_annotation, _insight, _dashboard = annotations.c, insights.c, dashboards.c
# A project, and its organization, whose annotations it sees too.
Reader = tuple[int, UUID]


@dataclass(frozen=True, slots=True)
class AnnotationSelection:
    """The annotations to list; None stands for any.

    Attributes:
        search: A part of the content, regardless of the case of ASCII letters.
        insight_id: The insight that they are about.
        date_from: The earliest moment that they are about.
        date_to: The latest one.
        deleted: Whether to list the deleted ones, and not the others.
    """

    search: str | None = None
    scope: Scope | None = None
    insight_id: int | None = None
    date_from: datetime | None = None
    date_to: datetime | None = None
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class AnnotationStore:
    records: Records

    async def list_annotations(
        self, reader: Reader, query: AnnotationSelection, limit: int, offset: int
    ) -> tuple[Sequence[AnnotationRecord], int]:
        """Return a page of the annotations, with the latest moment first, and their number."""
        conditions = [_visible(reader), *_conditions(query)]
        count = select(func.count()).select_from(annotations).where(*conditions)
        rows = _annotations().where(*conditions)
        rows = rows.order_by(_annotation.date_marker.desc(), _annotation.id.desc())
        async with self.records.read() as connection:
            total = await connection.scalar(count)
            found = (await connection.execute(rows.limit(limit).offset(offset))).all()
            return await connection.run_sync(_read, found), total or 0

    async def get_annotation(self, reader: Reader, annotation_id: int) -> AnnotationRecord:
        """Return an annotation that is not deleted, or raise NotFound."""
        async with self.records.read() as connection:
            annotation = await connection.run_sync(get_annotation, reader, annotation_id)
        if annotation.deleted:
            raise NotFound
        return annotation


def get_annotation(
    connection: Connection, reader: Reader, annotation_id: int, *, for_update: bool = False
) -> AnnotationRecord:
    """Return an annotation, deleted or not, or raise NotFound."""
    statement = _annotations().where(_visible(reader), _annotation.id == annotation_id)
    if for_update:
        statement = statement.with_for_update(of=annotations)
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _read(connection, rows)[0]


def add_annotation(
    connection: Connection, author: Author, values: Mapping[str, Any]
) -> AnnotationRecord:
    """Create an annotation.

    Raises:
        Invalid: The project does not have its insight or dashboard, or has too many annotations.
    """
    theirs = _annotation.project_id == author.project_id
    count = select(func.count()).select_from(annotations).where(theirs)
    if (connection.scalar(count) or 0) >= ANNOTATIONS_MAX:
        raise Invalid(f"A project can have at most {ANNOTATIONS_MAX:,} annotations.")
    _require_places(connection, author.project_id, values)
    statement = insert(annotations).values(
        project_id=author.project_id,
        created_by_id=author.user_id,
        created_at=author.now,
        updated_at=author.now,
        deleted=False,
        **values,
    )
    added = connection.execute(statement.returning(_annotation.id)).scalar_one()
    created = get_annotation(connection, (author.project_id, author.organization_id), added)
    _record(connection, author, None, created)
    return created


def write_annotation(
    connection: Connection, author: Author, before: AnnotationRecord, values: Mapping[str, Any]
) -> AnnotationRecord:
    """Change a locked annotation.

    Raises:
        Invalid: The project does not have its insight or dashboard.
    """
    differing = {name: value for name, value in values.items() if getattr(before, name) != value}
    if not differing:
        return before
    _require_places(connection, author.project_id, differing)
    this = update(annotations).where(_annotation.id == before.id)
    connection.execute(this.values(**differing, updated_at=author.now))
    after = get_annotation(connection, (author.project_id, author.organization_id), before.id)
    _record(connection, author, before, after)
    return after


def _require_places(connection: Connection, project_id: int, values: Mapping[str, Any]) -> None:
    """Raise Invalid unless the project has the insight and the dashboard that values name."""
    for name, table in _PLACES.items():
        item_id = values.get(name)
        if item_id is None:
            continue
        item = select(table.c.id).where(
            table.c.id == item_id, table.c.project_id == project_id, table.c.deleted.is_(False)
        )
        if connection.scalar(item) is None:
            raise Invalid(
                f'Invalid pk "{item_id}" - object does not exist.',
                code="does_not_exist",
                attr=name,
            )


def _record(
    connection: Connection, author: Author, before: AnnotationRecord | None, after: AnnotationRecord
) -> None:
    former = None if before is None else _state(before)
    record_activity(connection, item_record(author, "Annotation", former, _state(after)))


def _state(annotation: AnnotationRecord) -> ItemState:
    fields = {name: getattr(annotation, name) for name in _RECORDED}
    return ItemState(str(annotation.id), annotation.content[:NAME_CHARS_MAX], fields)


def _annotations() -> Select[Any]:
    return (
        select(
            annotations,
            _dashboard.name.label("dashboard_name"),
            _insight.short_id.label("insight_short_id"),
            _insight.name.label("insight_name"),
            _insight.derived_name.label("insight_derived_name"),
        )
        .outerjoin(insights, _insight.id == _annotation.dashboard_item)
        .outerjoin(dashboards, _dashboard.id == _annotation.dashboard_id)
    )


def _read(connection: Connection, rows: Sequence[Row[Any]]) -> list[AnnotationRecord]:
    users = read_user_summaries(connection, (row.created_by_id for row in rows))
    return [
        AnnotationRecord(
            **{name: getattr(row, name) for name in _COLUMNS},
            dashboard_name=row.dashboard_name,
            insight_short_id=row.insight_short_id,
            insight_name=row.insight_name,
            insight_derived_name=row.insight_derived_name,
            created_by=users.get(row.created_by_id),
        )
        for row in rows
    ]


def _visible(reader: Reader) -> ColumnElement[bool]:
    """Return the condition for annotations of the project, and those of its organization."""
    project_id, organization_id = reader
    siblings = select(projects.c.id).where(projects.c.organization_id == organization_id)
    of_organization = (_annotation.scope == "organization") & _annotation.project_id.in_(siblings)
    return (_annotation.project_id == project_id) | of_organization


def _conditions(query: AnnotationSelection) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [_annotation.deleted.is_(query.deleted)]
    if query.search:
        content = func.lower(_annotation.content)
        conditions.append(content.contains(query.search.lower(), autoescape=True))
    if query.scope is not None:
        conditions.append(_annotation.scope == query.scope)
    if query.insight_id is not None:
        conditions.append(_annotation.dashboard_item == query.insight_id)
    if query.date_from is not None:
        conditions.append(_annotation.date_marker >= query.date_from)
    if query.date_to is not None:
        conditions.append(_annotation.date_marker <= query.date_to)
    return conditions
