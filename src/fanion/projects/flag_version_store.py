"""The version of what a project's flags answer: it moves with flags, cohorts, group types.

Every server watches it, so that a change on one machine is seen on all.
"""

from sqlalchemy import Connection

from fanion.db.bulk import upsert
from fanion.db.schema.tables import flag_versions


def move_flag_version(connection: Connection, project_id: int) -> None:
    """To be called in the transaction that makes the change."""
    statement = upsert(connection.dialect, flag_versions).values(project_id=project_id, version=1)
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id"], set_={"version": flag_versions.c.version + 1}
        )
    )
