"""Flags as rows of the records store: one with everything that the management API shows, and the
definitions of a project, from which its flags are compiled."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from fanion.cohorts.store import live_criteria
from fanion.db.schema.tables import feature_flags, flag_versions, group_types, users
from fanion.flags.engine.definition import CohortRow, FlagDefinitions, FlagRow
from fanion.projects.model import UserSummary, user_summary
from fanion.projects.organizations_store import USER_SUMMARY

_flag = feature_flags.c

# Rows that are read in one turn of the event loop.
READ_ROWS = 500
# In the order of FlagRow.
DEFINITION = (
    _flag.id,
    _flag.key,
    _flag.filters,
    _flag.rollout_percentage,
    _flag.active,
    _flag.deleted,
    _flag.ensure_experience_continuity,
    _flag.version,
    _flag.name,
    _flag.bucketing_identifier,
    _flag.evaluation_runtime,
    _flag.evaluation_contexts,
)


@dataclass(frozen=True, slots=True)
class StoredFlag:
    definition: FlagRow
    project_id: int
    created_at: datetime
    created_by: UserSummary | None
    rollback_conditions: Any
    performed_rollback: bool | None
    tags: list[str]
    usage_dashboard: int | None
    analytics_dashboards: list[int]
    has_enriched_analytics: bool

    @property
    def creator_id(self) -> int | None:
        return None if self.created_by is None else self.created_by.id


def flag_rows() -> Select[Any]:
    return select(
        *DEFINITION,
        _flag.project_id,
        _flag.created_at,
        _flag.rollback_conditions,
        _flag.performed_rollback,
        _flag.tags,
        _flag.usage_dashboard,
        _flag.analytics_dashboards,
        _flag.has_enriched_analytics,
        *USER_SUMMARY,
    ).select_from(feature_flags.outerjoin(users, users.c.id == _flag.created_by_id))


def get_flag(connection: Connection, project_id: int, flag_id: int) -> StoredFlag | None:
    """Deleted ones too."""
    statement = flag_rows().where(_flag.project_id == project_id, _flag.id == flag_id)
    row = connection.execute(statement).first()
    return None if row is None else stored_flag(row)


def lock_flag(connection: Connection, project_id: int, flag_id: int) -> StoredFlag | None:
    """The flag, which no other transaction can change before this one ends."""
    row = lock_row(connection, project_id, flag_id)
    return None if row is None else stored_flag(row)


def lock_row(connection: Connection, project_id: int, flag_id: int) -> Row[Any] | None:
    """The row of `flag_rows`. Every change of what belongs to a flag locks the flag first, so that
    transactions wait in one order."""
    statement = flag_rows().where(_flag.project_id == project_id, _flag.id == flag_id)
    return connection.execute(statement.with_for_update(of=feature_flags)).first()


def stored_flag(row: Row[Any]) -> StoredFlag:
    return StoredFlag(
        FlagRow(*row[: len(DEFINITION)]),
        row.project_id,
        row.created_at,
        user_summary(row),
        row.rollback_conditions,
        row.performed_rollback,
        row.tags,
        row.usage_dashboard,
        row.analytics_dashboards,
        row.has_enriched_analytics,
    )


def read_definitions(connection: Connection, project_id: int) -> FlagDefinitions:
    """All from one snapshot of the store."""
    version = flag_version(connection, project_id)
    flags = [FlagRow(*row) for row in connection.execute(live_flags(project_id))]
    return made_of(connection, project_id, flags, version)


def flag_version(connection: Connection, project_id: int) -> int:
    statement = select(flag_versions.c.version).where(flag_versions.c.project_id == project_id)
    return connection.scalar(statement) or 0


def live_flags(project_id: int) -> Select[Any]:
    """As `FlagRow`s, the oldest first."""
    return (
        select(*DEFINITION)
        .where(_flag.project_id == project_id, _flag.deleted.is_(False))
        .order_by(_flag.id)
    )


def made_of(
    connection: Connection, project_id: int, flags: Sequence[FlagRow], version: int
) -> FlagDefinitions:
    """The flags together with what else their conditions name."""
    types = select(group_types.c.group_type_index, group_types.c.group_type).where(
        group_types.c.project_id == project_id
    )
    names = {row[0]: row[1] for row in connection.execute(types)}
    return FlagDefinitions(flags, names, cohort_rows(connection, project_id), version)


def cohort_rows(connection: Connection, project_id: int) -> Sequence[CohortRow]:
    """That are not deleted."""
    return [
        CohortRow(
            one.id,
            None if one.is_static else one.effective_filters.get("properties"),
            one.is_static,
        )
        for one in live_criteria(connection, project_id)
    ]
