"""Keeps the list of flags whose rollback conditions are checked, with every change of a flag."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete

from fanion.db.bulk import upsert
from fanion.db.schema.flags import flag_rollback_checks
from fanion.flags.storage.rollback import is_watched


def watch_conditions(
    connection: Connection,
    flag: Mapping[str, Any],
    former: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """The first check follows a whole interval after the flag was switched on or its conditions
    were changed, so that whoever switches it on again has time to look.

    flag:   its stored values by column, as they are now
    former: as they were, None for a new flag
    """
    was = former is not None and is_watched(former)
    if not is_watched(flag):
        if was:
            connection.execute(
                delete(flag_rollback_checks).where(flag_rollback_checks.c.flag_id == flag["id"])
            )
        return
    if was and former and flag["rollback_conditions"] == former["rollback_conditions"]:
        return
    fresh = {"checked_at": now, "lease_until": None}
    statement = upsert(connection.dialect, flag_rollback_checks).values(
        flag_id=flag["id"], project_id=flag["project_id"], **fresh
    )
    connection.execute(statement.on_conflict_do_update(index_elements=["flag_id"], set_=fresh))
