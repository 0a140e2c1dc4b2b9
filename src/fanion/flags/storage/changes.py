"""Creating and changing a flag, each in one transaction with its activity, its rollback checks and
the flag version of its project."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from fanion.activity.model import Author
from fanion.db.bulk import upsert
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.flags import flag_rollback_checks
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid
from fanion.flags.automation.rollback import is_watched
from fanion.flags.storage.activity import record_changed, record_created
from fanion.flags.storage.integrity import require_computable
from fanion.flags.storage.rows import StoredFlag, get_flag, lock_row, stored_flag
from fanion.flags.storage.schedule_rows import cancel_changes
from fanion.flags.validation.filters import cohort_ids, require_cohorts
from fanion.insights.dashboards_store import Creator, add_dashboard
from fanion.insights.flag_usage_template import usage_dashboard
from fanion.insights.store import known_dashboards
from fanion.projects.flag_version_store import move_flag_version


def watch_conditions(
    connection: Connection,
    flag: Mapping[str, Any],
    former: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """The first check follows a whole interval after the flag was switched on or its conditions
    were changed, so that a user who switches it on again has time to look.

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


# From the flag as it is to the columns to set; it may refuse by raising.
Decide = Callable[[StoredFlag], Mapping[str, Any]]

_flag = feature_flags.c
_encode = msgspec.json.Encoder().encode


def create_flag(connection: Connection, author: Author, values: Mapping[str, Any]) -> StoredFlag:
    """values: by column, without project and creator. raises: Invalid"""
    project_id = author.project_id
    _require_cohorts(connection, project_id, cohort_ids(values["filters"]))
    _require_dashboards(connection, project_id, values.get("analytics_dashboards") or ())
    _free_key(connection, project_id, values["key"])
    maker = Creator(project_id, author.user_id, author.now)
    draft = usage_dashboard(values["key"], enriched=values.get("has_enriched_analytics", False))
    statement = insert(feature_flags).values(
        project_id=project_id,
        created_by_id=author.user_id,
        version=1,
        usage_dashboard=add_dashboard(connection, maker, draft),
        **values,
    )
    flag_id = connection.execute(statement.returning(_flag.id)).scalar_one()
    row = {**values, "id": flag_id, "project_id": project_id}
    watch_conditions(connection, row, None, author.now)
    record_created(connection, author, flag_id, values["key"])
    move_flag_version(connection, project_id)
    require_computable(connection, row, values, values["key"])
    flag = get_flag(connection, project_id, flag_id)
    assert flag is not None
    return flag


def change_flag(
    connection: Connection,
    author: Author,
    flag_id: int,
    decide: Decide,
    *,
    alone: bool = True,
) -> StoredFlag | None:
    """None when there is no such flag. A change of nothing leaves its version where it is.

    alone:  whether flags must be computable after it; of several changes in one transaction that
            need each other the caller has to know
    raises: what `decide` does, Invalid
    """
    project_id = author.project_id
    one = (_flag.project_id == project_id) & (_flag.id == flag_id)
    # Concurrent changes of the same flag wait here: each decides on the outcome of the former.
    found = lock_row(connection, project_id, flag_id)
    if found is None:
        return None
    row, flag = dict(found._mapping), stored_flag(found)
    wanted = decide(flag)
    values = {name: value for name, value in wanted.items() if _differ(row[name], value)}
    if not values:
        return flag
    if "filters" in values:
        named = cohort_ids(values["filters"]) - cohort_ids(row["filters"])
        _require_cohorts(connection, project_id, named)
    added = set(values.get("analytics_dashboards") or ()) - set(flag.analytics_dashboards)
    _require_dashboards(connection, project_id, sorted(added))
    if "key" in values:
        _free_key(connection, project_id, values["key"])
    connection.execute(update(feature_flags).where(one).values(version=_flag.version + 1, **values))
    if values.get("deleted"):
        cancel_changes(connection, flag_id)
    changed = {**row, **values}
    watch_conditions(connection, changed, row, author.now)
    record_changed(connection, author, row, changed)
    move_flag_version(connection, project_id)
    if alone:
        require_computable(connection, changed, values, row["key"])
    return get_flag(connection, project_id, flag_id)


def _require_cohorts(connection: Connection, project_id: int, ids: Collection[int]) -> None:
    """A deleted cohort is still there. raises: Invalid"""
    if ids:
        known = select(cohorts.c.id).where(
            cohorts.c.project_id == project_id, cohorts.c.id.in_(ids)
        )
        require_cohorts(ids, set(connection.scalars(known)).__contains__)


def _require_dashboards(connection: Connection, project_id: int, ids: Sequence[int]) -> None:
    """raises: Invalid for the first that does not exist"""
    known = known_dashboards(connection, project_id, ids) if ids else set()
    for dashboard_id in ids:
        if dashboard_id not in known:
            raise Invalid(
                f'Invalid pk "{dashboard_id}" - object does not exist.',
                code="does_not_exist",
                attr="analytics_dashboards",
            )


def _free_key(connection: Connection, project_id: int, key: str) -> None:
    """A deleted flag gives its key up, and is gone for good."""
    connection.execute(
        delete(feature_flags).where(
            _flag.project_id == project_id, _flag.key == key, _flag.deleted.is_(True)
        )
    )


def _differ(stored: object, wanted: object) -> bool:
    """As JSON, where True is not 1 and the order of keys matters."""
    return _encode(stored) != _encode(wanted)
