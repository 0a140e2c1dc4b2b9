"""The deletion of projects from the records store.

The project itself and its keys are deleted at once, with a note of the deletion. What the project
holds is deleted afterwards, some rows at a time.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from msgspec import to_builtins
from sqlalchemy import Connection, Table, delete, func, insert, select, tuple_, update

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.bulk import upsert
from fanion.db.schema.activity import activity_log, event_copies
from fanion.db.schema.cohorts import cohort_imports, cohort_recounts, cohorts
from fanion.db.schema.events import (
    actions,
    actor_properties,
    event_properties,
    ingestion_counts,
    ingestion_examples,
    ingestion_ledger,
    property_definitions,
    property_marks,
)
from fanion.db.schema.experiments import (
    experiment_holdouts,
    experiment_saved_metrics,
    experiments,
    guarded_releases,
)
from fanion.db.schema.exports import batch_exports
from fanion.db.schema.flags import former_secret_keys, project_secret_keys, waiting_identities
from fanion.db.schema.insights import (
    alert_checks,
    alert_mails,
    alerts,
    annotations,
    dashboards,
    flag_evaluations,
    insight_results,
    insights,
    segments,
)
from fanion.db.schema.persons import (
    merge_authors,
    mirror_outbox,
    person_erasures,
    person_floors,
    person_merges,
    person_splits,
    split_ids,
)
from fanion.db.schema.servers import query_cancellations
from fanion.db.schema.tables import (
    dead_letters,
    event_definitions,
    feature_flags,
    flag_versions,
    former_project_tokens,
    group_types,
    groups,
    organizations,
    person_distinct_ids,
    person_overrides,
    persons,
    project_deletions,
    projects,
    users,
)
from fanion.db.schema.webhooks import webhooks
from fanion.errors import Invalid, NotFound
from fanion.projects.deletion.model import ProjectContents

# Rows deleted in one transaction, with those of other tables that go with them: other writers of
# SQLite wait for it.
ROWS_MAX: Final = 500

# The tables whose rows are deleted, in this order. The rows of tables that refer to them go with
# them: members of cohorts, tiles, deliveries, runs and others.
EMPTIED: Final[tuple[Table, ...]] = (
    batch_exports,
    webhooks,
    alert_checks,
    alert_mails,
    alerts,
    annotations,
    dashboards,
    insights,
    insight_results,
    segments,
    experiments,
    experiment_holdouts,
    experiment_saved_metrics,
    guarded_releases,
    feature_flags,
    flag_evaluations,
    waiting_identities,
    cohort_imports,
    cohorts,
    person_distinct_ids,
    person_overrides,
    persons,
    person_erasures,
    person_merges,
    merge_authors,
    person_splits,
    split_ids,
    mirror_outbox,
    groups,
    group_types,
    actions,
    event_definitions,
    property_definitions,
    actor_properties,
    property_marks,
    event_properties,
    event_copies,
    ingestion_ledger,
    ingestion_counts,
    ingestion_examples,
    dead_letters,
    query_cancellations,
    activity_log,
    flag_versions,
)
_KEYS: Final = (former_project_tokens, project_secret_keys, former_secret_keys)

_deletion = project_deletions.c
_floor = person_floors.c


@dataclass(frozen=True, slots=True)
class ProjectDeletion:
    """The deletion of a project, until nothing is left of it in any store.

    Attributes:
        requested_at: From then on the project's keys are refused.
        is_swept: Whether everything was deleted once. What was under way then is deleted by a
            second sweep.
    """

    project_id: int
    requested_at: datetime
    is_swept: bool


def count_records(connection: Connection, project_id: int, events: int) -> ProjectContents:
    """Count what a project holds.

    Args:
        events: The number of events in the event store.
    """

    def count(table: Table) -> int:
        statement = select(func.count()).select_from(table).where(table.c.project_id == project_id)
        if "deleted" in table.c:
            statement = statement.where(table.c.deleted.is_(False))
        return connection.scalar(statement) or 0

    return ProjectContents(
        events=events,
        persons=count(persons),
        groups=count(groups),
        feature_flags=count(feature_flags),
        cohorts=count(cohorts),
        insights=count(insights),
        dashboards=count(dashboards),
        experiments=count(experiments),
        alerts=count(alerts),
        annotations=count(annotations),
        webhooks=count(webhooks),
        batch_exports=count(batch_exports),
        event_definitions=count(event_definitions),
        dead_letters=count(dead_letters),
    )


def begin_deletion(
    connection: Connection, by: OrganizationAuthor, project_id: int, events: int
) -> ProjectContents:
    """Delete a project with its keys, and note that what it holds is to be deleted.

    The activity log of the organization's other projects records the deletion.

    Args:
        events: The number of events in the event store.

    Returns:
        What the project held.

    Raises:
        NotFound: There is no such project.
        Invalid: It is the only project of its organization.
    """
    name = _lock_project(connection, by.organization_id, project_id)
    return _delete_project(connection, by, project_id, name, events)


def _delete_project(
    connection: Connection, by: OrganizationAuthor, project_id: int, name: str, events: int
) -> ProjectContents:
    contents = count_records(connection, project_id, events)
    _remove_project(connection, project_id)
    connection.execute(
        insert(project_deletions).values(
            project_id=project_id,
            organization_id=by.organization_id,
            name=name,
            requested_at=by.now,
        )
    )
    _raise_floor(connection, project_id)
    _record_deletion(connection, by, project_id, name, contents)
    return contents


def repeat_deletion(connection: Connection, project_id: int, now: datetime) -> bool:
    """Delete a project again after the records were restored from a backup made before that.

    Returns:
        False if these records have no such project.
    """
    statement = select(projects.c.name, projects.c.organization_id)
    row = connection.execute(statement.where(projects.c.id == project_id)).first()
    if row is None:
        return False
    by = OrganizationAuthor(row.organization_id, None, now)
    _delete_project(connection, by, project_id, row.name, events=0)
    return True


def unfinished_deletions(connection: Connection) -> list[ProjectDeletion]:
    """Return the deletions that are not finished, oldest first."""
    statement = (
        select(_deletion.project_id, _deletion.requested_at, _deletion.swept_at)
        .where(_deletion.finished_at.is_(None))
        .order_by(_deletion.requested_at, _deletion.project_id)
    )
    return [
        ProjectDeletion(row.project_id, row.requested_at, row.swept_at is not None)
        for row in connection.execute(statement)
    ]


def deleted_projects(connection: Connection, project_ids: Collection[int]) -> frozenset[int]:
    """Return which of these projects are deleted."""
    statement = select(_deletion.project_id).where(_deletion.project_id.in_(project_ids))
    return frozenset(connection.scalars(statement))


def delete_rows(connection: Connection, table: Table, project_id: int) -> bool:
    """Delete at most `ROWS_MAX` rows of a project from a table, and return whether there were any.

    Repeating this is safe.
    """
    if table is cohorts:
        _forget_recounts(connection, project_id)
    key, of_project = tuple(table.primary_key), table.c.project_id == project_id
    some = select(*key).where(of_project).limit(ROWS_MAX)
    # PostgreSQL divides persons by project, so the project is named twice.
    statement = delete(table).where(of_project, tuple_(*key).in_(some))
    return connection.execute(statement).rowcount > 0


def mark_swept(connection: Connection, project_id: int, now: datetime) -> None:
    statement = update(project_deletions).where(_deletion.project_id == project_id)
    connection.execute(statement.values(swept_at=now))


def mark_finished(connection: Connection, project_id: int, now: datetime) -> None:
    statement = update(project_deletions).where(_deletion.project_id == project_id)
    connection.execute(statement.values(finished_at=now))


def _lock_project(connection: Connection, organization_id: UUID, project_id: int) -> str:
    """Return the name of a project that may be deleted, locked until the transaction ends.

    Deletions in one organization wait for each other, so that one project remains.
    """
    this = organizations.c.id == organization_id
    connection.execute(select(organizations.c.id).where(this).with_for_update())
    of_organization = projects.c.organization_id == organization_id
    statement = select(projects.c.name).where(of_organization, projects.c.id == project_id)
    name: str | None = connection.scalar(statement.with_for_update())
    if name is None:
        raise NotFound("Project not found.")
    others = select(projects.c.id).where(of_organization, projects.c.id != project_id).limit(1)
    if connection.scalar(others) is None:
        raise Invalid(
            "This is the only project of its organization. Create another one before you delete "
            "it.",
            code="last_project",
        )
    return name


def _remove_project(connection: Connection, project_id: int) -> None:
    for table in _KEYS:
        connection.execute(delete(table).where(table.c.project_id == project_id))
    working = update(users).where(users.c.current_project_id == project_id)
    connection.execute(working.values(current_project_id=None))
    connection.execute(delete(projects).where(projects.c.id == project_id))


def _raise_floor(connection: Connection, project_id: int) -> None:
    """Let ingestion notice the deletion, as it notices deletions of persons."""
    statement = upsert(connection.dialect, person_floors).values(project_id=project_id, version=1)
    raised = {"version": _floor.version + 1}
    connection.execute(statement.on_conflict_do_update(index_elements=["project_id"], set_=raised))


def _record_deletion(
    connection: Connection,
    by: OrganizationAuthor,
    project_id: int,
    name: str,
    contents: ProjectContents,
) -> None:
    counts = {kind: number for kind, number in to_builtins(contents).items() if number}
    change = OrganizationChange(
        scope="Project",
        before=None,
        after=ItemState(str(project_id), name, counts),
        activity="deleted",
    )
    record_in_organization(connection, by, change)


def _forget_recounts(connection: Connection, project_id: int) -> None:
    of_project = select(cohorts.c.id).where(cohorts.c.project_id == project_id)
    connection.execute(delete(cohort_recounts).where(cohort_recounts.c.cohort_id.in_(of_project)))
