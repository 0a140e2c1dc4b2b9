"""Version of a project's flags: it moves with each change of flags, cohorts and group types.

Every server polls it, so that a change on one machine is seen on all.
"""

from functools import lru_cache

from sqlalchemy import Connection, Dialect, Executable

from fanion.db.bulk import upsert
from fanion.db.schema.tables import flag_versions


def move_flag_version(connection: Connection, project_id: int) -> None:
    """In the transaction of the change."""
    connection.execute(_moved(connection.dialect), {"project_id": project_id, "version": 1})


@lru_cache(maxsize=2)
def _moved(dialect: Dialect) -> Executable:
    return upsert(dialect, flag_versions).on_conflict_do_update(
        index_elements=["project_id"], set_={"version": flag_versions.c.version + 1}
    )
