"""What the flags of a project are made of, read in one go."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, select

from fanion.cohorts.store import live_criteria
from fanion.db.schema.tables import feature_flags, flag_versions, group_types
from fanion.flags.engine.definition import CohortRow, Definitions, FlagRow
from fanion.flags.storage.rows import DEFINITION

_flag = feature_flags.c


def read_definitions(connection: Connection, project_id: int) -> Definitions:
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
) -> Definitions:
    """The flags together with what else their conditions name."""
    types = select(group_types.c.group_type_index, group_types.c.group_type).where(
        group_types.c.project_id == project_id
    )
    names = {row[0]: row[1] for row in connection.execute(types)}
    return Definitions(flags, names, cohort_rows(connection, project_id), version)


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
