"""The parts of a project that a document contains, read from the records store."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, Table, func, select

from fanion.actions.store import ACTIONS
from fanion.cohorts.members.store import is_seen
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohort_people, cohorts
from fanion.db.schema.events import (
    actions,
    event_marks,
    event_properties,
    property_definitions,
    property_marks,
)
from fanion.db.schema.experiments import (
    experiment_holdouts,
    experiment_metric_links,
    experiment_saved_metrics,
    experiments,
)
from fanion.db.schema.insights import (
    alerts,
    annotations,
    dashboard_tiles,
    dashboards,
    insights,
    segments,
)
from fanion.db.schema.organizations import flag_role_access, role_memberships, roles
from fanion.db.schema.tables import (
    event_definitions,
    feature_flags,
    person_distinct_ids,
    projects,
    users,
)
from fanion.events.definitions.model import PlainEventDefinition
from fanion.events.definitions.properties import PropertyType
from fanion.experiments.model import Phase, PlainExperiment
from fanion.flags.definitions.model import PlainFlag
from fanion.flags.engine.definition import FlagRow, grouped_filters
from fanion.groups.store import load_types
from fanion.insights.segments.store import SEGMENTS
from fanion.projects.model import Project
from fanion.projects.organizations.model import AccessLevel
from fanion.rest.validation import shared_fields
from fanion.transfer.document import (
    Document,
    EventDefinitionEntry,
    PropertyDefinitionEntry,
    RoleEntry,
)
from fanion.transfer.snapshot import (
    SnapshotAction,
    SnapshotAlert,
    SnapshotAnnotation,
    SnapshotCohort,
    SnapshotDashboard,
    SnapshotExperiment,
    SnapshotFlag,
    SnapshotHoldout,
    SnapshotInsight,
    SnapshotSavedMetric,
    SnapshotSegment,
    SnapshotTile,
    Stored,
    document_of,
)

_cohort, _flag, _tile, _insight = cohorts.c, feature_flags.c, dashboard_tiles.c, insights.c
_alert, _annotation, _experiment = alerts.c, annotations.c, experiments.c
_dashboard, _member, _link = dashboards.c, cohort_people.c, person_distinct_ids.c
_event, _mark, _property = event_definitions.c, event_marks.c, property_definitions.c


T = TypeVar("T")
# Progress is reported in steps: a static cohort may have millions of members.
PROGRESS_ROWS = 1_000


class ExportProgress(Protocol):
    """A receiver of progress.

    It is told the number of all rows first, then of the rows read since the last call.
    """

    def expect(self, total: float) -> None: ...

    def advance(self, count: int = 1) -> None: ...


async def export_project(
    records: Records, project: Project, progress: ExportProgress | None = None
) -> Document:
    """Read a project from one snapshot of the store.

    Args:
        progress: Makes it count all rows first.
    """
    async with records.read() as connection:
        return await connection.run_sync(_export, project, progress)


def _export(connection: Connection, project: Project, progress: ExportProgress | None) -> Document:
    if progress is not None:
        progress.expect(_row_count(connection, project))
    stored = read_project(
        connection, project.organization_id, project.id, with_members=True, progress=progress
    )
    return document_of(stored)


def read_project(
    connection: Connection,
    organization_id: UUID,
    project_id: int,
    *,
    with_members: bool,
    progress: ExportProgress | None = None,
) -> Stored:
    """Read the definitions of a project.

    Args:
        with_members: Whether to read the members of static cohorts, which may be many.
    """

    def counted(rows: Sequence[T]) -> Sequence[T]:
        if progress is not None:
            progress.advance(len(rows))
        return rows

    return Stored(
        group_types=load_types(connection, project_id),
        event_definitions=counted(_event_definitions(connection, project_id)),
        property_definitions=counted(_property_definitions(connection, project_id)),
        cohorts=counted(_cohorts(connection, project_id)),
        members=_members(connection, project_id, progress) if with_members else {},
        actions=counted(_actions(connection, project_id)),
        segments=counted(_segments(connection, project_id)),
        insights=counted(_insights(connection, project_id)),
        dashboards=counted(_dashboards(connection, project_id)),
        tiles=counted(_tiles(connection, project_id)),
        alerts=counted(_alerts(connection, project_id)),
        annotations=counted(_annotations(connection, project_id)),
        roles=counted(_roles(connection, organization_id)),
        flags=counted(_flags(connection, project_id)),
        holdouts=counted(_holdouts(connection, project_id)),
        saved_metrics=counted(_saved_metrics(connection, project_id)),
        experiments=counted(_experiments(connection, project_id)),
        usage_dashboards=_usage_dashboards(connection, project_id),
        test_account_filters=_account_filters(connection, project_id),
    )


def _row_count(connection: Connection, project: Project) -> int:
    """Return the number of rows that `read_project` reads, with members."""
    conditions: Sequence[ColumnElement[bool]] = (
        _event.project_id == project.id,
        _property.project_id == project.id,
        _cohort.project_id == project.id,
        (actions.c.project_id == project.id) & actions.c.deleted.is_(False),
        (segments.c.project_id == project.id) & segments.c.deleted.is_(False),
        _insight.project_id == project.id,
        (_dashboard.project_id == project.id) & _dashboard.deleted.is_(False),
        (_tile.project_id == project.id) & _tile.deleted.is_(False),
        _alert.project_id == project.id,
        (_annotation.project_id == project.id) & _annotation.deleted.is_(False),
        roles.c.organization_id == project.organization_id,
        (_flag.project_id == project.id) & _flag.deleted.is_(False),
        experiment_holdouts.c.project_id == project.id,
        experiment_saved_metrics.c.project_id == project.id,
        (_experiment.project_id == project.id) & _experiment.deleted.is_(False),
    )
    counts = [select(func.count()).where(condition) for condition in conditions]
    members = select(func.count()).select_from(_member_rows(project.id).subquery())
    return sum(connection.scalar(count) or 0 for count in (*counts, members))


def _actions(connection: Connection, project_id: int) -> list[SnapshotAction]:
    return [
        SnapshotAction(**shared_fields(action, SnapshotAction))
        for action in ACTIONS.all(connection, project_id)
    ]


def _segments(connection: Connection, project_id: int) -> list[SnapshotSegment]:
    return [
        SnapshotSegment(**shared_fields(segment, SnapshotSegment))
        for segment in SEGMENTS.all(connection, project_id)
    ]


def _event_definitions(connection: Connection, project_id: int) -> list[EventDefinitionEntry]:
    columns = (_event[name] for name in PlainEventDefinition.__struct_fields__)
    rows = connection.execute(
        select(*columns, _event.tags, *_details(event_marks))
        .select_from(
            event_definitions.outerjoin(event_marks, _mark.definition_id == _event.id).outerjoin(
                users, users.c.id == _mark.owner_id
            )
        )
        .where(_event.project_id == project_id)
    )
    return [
        EventDefinitionEntry(
            **shared_fields(row, PlainEventDefinition), tags=row.tags, **_details_of(row)
        )
        for row in rows
    ]


def _details(marks: Table) -> Sequence[ColumnElement[Any]]:
    return (marks.c.description, marks.c.hidden, marks.c.verified, users.c.email.label("owner"))


def _details_of(row: Any) -> Mapping[str, Any]:
    """Return the details of a definition; an owner keeps its address after leaving."""
    return {
        "description": row.description or "",
        "owner": row.owner,
        "hidden": bool(row.hidden),
        "verified": bool(row.verified),
    }


def _property_definitions(connection: Connection, project_id: int) -> list[PropertyDefinitionEntry]:
    carried, marks = event_properties.c, property_marks.c
    events: dict[str, list[str]] = defaultdict(list)
    pairs = select(carried.property, carried.event).where(carried.project_id == project_id)
    for name, event in connection.execute(pairs):
        events[name].append(event)
    rows = connection.execute(
        select(_property.name, _property.property_type, marks.tags, *_details(property_marks))
        .select_from(
            property_definitions.outerjoin(
                property_marks, marks.definition_id == _property.id
            ).outerjoin(users, users.c.id == marks.owner_id)
        )
        .where(_property.project_id == project_id)
    )
    return [
        PropertyDefinitionEntry(
            name=row.name,
            property_type=None if row.property_type is None else PropertyType(row.property_type),
            event_names=sorted(events[row.name]),
            tags=row.tags or [],
            **_details_of(row),
        )
        for row in rows
    ]


def _cohorts(connection: Connection, project_id: int) -> list[SnapshotCohort]:
    columns = (_cohort[name] for name in SnapshotCohort.__struct_fields__)
    rows = connection.execute(
        select(*columns).where(_cohort.project_id == project_id).order_by(_cohort.id)
    )
    return [SnapshotCohort(**row._asdict()) for row in rows]


def _member_rows(project_id: int) -> Select[Any]:
    return (
        select(_member.cohort_id, _member.person_id, _link.distinct_id)
        .join(cohorts, _cohort.id == _member.cohort_id)
        .join(person_distinct_ids, _link.person_id == _member.person_id)
        .where(_cohort.project_id == project_id, _cohort.is_static.is_(True))
        .where(_link.project_id == project_id, is_seen(_cohort.version))
    )


def _members(
    connection: Connection, project_id: int, progress: ExportProgress | None
) -> Mapping[int, Sequence[Sequence[str]]]:
    ids_by_cohort: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    rows: Iterable[Any] = connection.execute(_member_rows(project_id))
    if progress is not None:
        rows = _with_progress(rows, progress)
    for cohort_id, person_id, distinct_id in rows:
        ids_by_cohort[cohort_id][person_id].append(distinct_id)
    return {
        cohort_id: list(ids_by_person.values())
        for cohort_id, ids_by_person in ids_by_cohort.items()
    }


def _with_progress(rows: Iterable[T], progress: ExportProgress) -> Iterator[T]:
    number = 0
    for number, row in enumerate(rows, start=1):
        yield row
        if number % PROGRESS_ROWS == 0:
            progress.advance(PROGRESS_ROWS)
    progress.advance(number % PROGRESS_ROWS)


def _insights(connection: Connection, project_id: int) -> list[SnapshotInsight]:
    columns = (_insight[name] for name in SnapshotInsight.__struct_fields__)
    rows = connection.execute(
        select(*columns).where(_insight.project_id == project_id).order_by(_insight.id)
    )
    return [SnapshotInsight(**row._asdict()) for row in rows]


def _dashboards(connection: Connection, project_id: int) -> list[SnapshotDashboard]:
    columns = (_dashboard[name] for name in SnapshotDashboard.__struct_fields__)
    rows = connection.execute(
        select(*columns)
        .where(_dashboard.project_id == project_id, _dashboard.deleted.is_(False))
        .order_by(_dashboard.id)
    )
    return [SnapshotDashboard(**row._asdict()) for row in rows]


def _tiles(connection: Connection, project_id: int) -> list[SnapshotTile]:
    rows = connection.execute(
        select(_tile.dashboard_id, _tile.insight_id, _tile.color, _tile.layouts, _tile.body)
        .where(_tile.project_id == project_id, _tile.deleted.is_(False))
        .order_by(_tile.id)
    )
    return [SnapshotTile(*row) for row in rows]


def _alerts(connection: Connection, project_id: int) -> list[SnapshotAlert]:
    columns = (_alert[name] for name in SnapshotAlert.__struct_fields__)
    rows = connection.execute(
        select(*columns).where(_alert.project_id == project_id).order_by(_alert.id)
    )
    return [SnapshotAlert(**row._asdict()) for row in rows]


def _annotations(connection: Connection, project_id: int) -> list[SnapshotAnnotation]:
    columns = (_annotation[name] for name in SnapshotAnnotation.__struct_fields__)
    rows = connection.execute(
        select(*columns)
        .where(_annotation.project_id == project_id, _annotation.deleted.is_(False))
        .order_by(_annotation.date_marker, _annotation.id)
    )
    return [SnapshotAnnotation(**row._asdict()) for row in rows]


def _holdouts(connection: Connection, project_id: int) -> list[SnapshotHoldout]:
    holdout = experiment_holdouts.c
    columns = (holdout[name] for name in SnapshotHoldout.__struct_fields__)
    rows = connection.execute(
        select(*columns).where(holdout.project_id == project_id).order_by(holdout.id)
    )
    return [SnapshotHoldout(**row._asdict()) for row in rows]


def _saved_metrics(connection: Connection, project_id: int) -> list[SnapshotSavedMetric]:
    metric = experiment_saved_metrics.c
    columns = (metric[name] for name in SnapshotSavedMetric.__struct_fields__)
    rows = connection.execute(
        select(*columns).where(metric.project_id == project_id).order_by(metric.id)
    )
    return [SnapshotSavedMetric(**row._asdict()) for row in rows]


def _experiments(connection: Connection, project_id: int) -> list[SnapshotExperiment]:
    live = (_experiment.project_id == project_id, _experiment.deleted.is_(False))
    link = experiment_metric_links.c
    links: dict[int, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    for experiment_id, metric_id, metadata in connection.execute(
        select(link.experiment_id, link.saved_metric_id, link.metadata)
        .join(experiments, _experiment.id == link.experiment_id)
        .where(*live)
        .order_by(link.id)
    ):
        links[experiment_id].append((metric_id, metadata))
    rows = connection.execute(select(experiments).where(*live).order_by(_experiment.id))
    return [
        SnapshotExperiment(
            **{
                **shared_fields(row, PlainExperiment),
                "phases": msgspec.convert(row.phases, list[Phase]),
            },
            id=row.id,
            holdout_id=row.holdout_id,
            links=links[row.id],
        )
        for row in rows
    ]


def _roles(connection: Connection, organization_id: UUID) -> list[RoleEntry]:
    role, membership = roles.c, role_memberships.c
    emails: dict[UUID, list[str]] = defaultdict(list)
    members = connection.execute(
        select(membership.role_id, users.c.email)
        .join(roles, role.id == membership.role_id)
        .join(users, users.c.id == membership.user_id)
        .where(role.organization_id == organization_id)
    )
    for role_id, email in members:
        emails[role_id].append(email)
    rows = connection.execute(
        select(role.id, role.name, role.feature_flags_access_level).where(
            role.organization_id == organization_id
        )
    )
    return [
        RoleEntry(
            name=row.name,
            feature_flags_access_level=AccessLevel(row.feature_flags_access_level),
            members=sorted(emails[row.id]),
        )
        for row in rows
    ]


def _flags(connection: Connection, project_id: int) -> list[SnapshotFlag]:
    live = (_flag.project_id == project_id, _flag.deleted.is_(False))
    given: dict[int, list[str]] = defaultdict(list)
    access = flag_role_access.c
    for flag_id, name in connection.execute(
        select(access.flag_id, roles.c.name)
        .join(roles, roles.c.id == access.role_id)
        .where(access.project_id == project_id)
    ):
        given[flag_id].append(name)
    rows = connection.execute(select(feature_flags).where(*live).order_by(_flag.id))
    return [_stored_flag(row, given[row.id]) for row in rows]


def _account_filters(connection: Connection, project_id: int) -> Sequence[dict[str, Any]]:
    this_project = projects.c.id == project_id
    return connection.scalar(select(projects.c.test_account_filters).where(this_project)) or ()


def _usage_dashboards(connection: Connection, project_id: int) -> set[int]:
    made = select(_flag.usage_dashboard).where(
        _flag.project_id == project_id, _flag.usage_dashboard.is_not(None)
    )
    return set(connection.scalars(made))


def _stored_flag(row: Any, given: Sequence[str]) -> SnapshotFlag:
    old = FlagRow(row.id, row.key, row.filters, row.rollout_percentage)
    return SnapshotFlag(
        **(shared_fields(row, PlainFlag) | {"filters": grouped_filters(old)}),
        id=row.id,
        analytics_dashboards=row.analytics_dashboards,
        created_at=row.created_at,
        roles=given,
    )
