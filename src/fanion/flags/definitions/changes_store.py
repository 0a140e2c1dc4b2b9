"""Creating and changing a flag, each in one transaction with everything that follows from it.

What follows is the activity, the webhook messages, the flag's rollback checks and the project's
flag version.

Source: flags.md section 14.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal

import msgspec
from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import Action, ActivityRecord, Author, Change, changed_fields
from fanion.db.bulk import upsert
from fanion.db.schema.cohorts import cohorts
from fanion.db.schema.flags import flag_rollback_checks, scheduled_changes
from fanion.db.schema.tables import feature_flags
from fanion.errors import Invalid
from fanion.flags.definitions.experiments_store import (
    follow_flag,
    require_no_running_experiment,
)
from fanion.flags.definitions.integrity_store import require_computable, require_known_names
from fanion.flags.definitions.releases_store import follow_release
from fanion.flags.definitions.rollback_conditions import is_watched
from fanion.flags.definitions.store import StoredFlag, columns_of, flag_row, get_flag
from fanion.flags.definitions.validation.filters import cohort_ids, require_cohorts
from fanion.insights.dashboards.flag_usage_template import usage_dashboard
from fanion.insights.dashboards.store import add_dashboard
from fanion.insights.saved.store import Creator
from fanion.insights.saved.tiles_store import known_dashboards
from fanion.projects.store import move_flag_version
from fanion.webhooks import outbox_store

SCOPE: Literal["FeatureFlag"] = "FeatureFlag"
FLAG_DELETED = "The feature flag was deleted."

_flag = feature_flags.c
# The columns whose changes are recorded, in this order.
_UNRECORDED = {
    *("id", "project_id", "version", "created_by_id", "created_at"),
    *("rollout_percentage", "usage_dashboard"),
}
RECORDED_FIELDS = tuple(str(column.name) for column in _flag if column.name not in _UNRECORDED)
_encode = msgspec.json.Encoder().encode


@contextmanager
def unique_key() -> Iterator[None]:
    """Turn a violated constraint into an error about the key; put it around a whole transaction.

    The database decides whether a key is free.

    Raises:
        Invalid: Code `unique`: another flag that is not deleted has the key.
    """
    try:
        yield
    except IntegrityError:
        raise key_is_taken() from None


def key_is_taken() -> Invalid:
    return Invalid("There is already a feature flag with this key.", code="unique", attr="key")


def create_flag(connection: Connection, author: Author, values: Mapping[str, Any]) -> StoredFlag:
    """Create a flag, with a dashboard that shows its usage.

    A deleted flag with the same key is purged first.

    Args:
        values: By column, without project, creator and version.

    Raises:
        Invalid: The flag would not be valid.
    """
    project_id = author.project_id
    require_references(connection, project_id, None, values)
    _free_key(connection, project_id, values["key"])
    creator = Creator(project_id, author.user_id, author.now)
    draft = usage_dashboard(values["key"], enriched=values.get("has_enriched_analytics", False))
    statement = insert(feature_flags).values(
        project_id=project_id,
        created_by_id=author.user_id,
        version=1,
        usage_dashboard=add_dashboard(connection, creator, draft),
        **values,
    )
    flag_id = connection.execute(statement.returning(_flag.id)).scalar_one()
    row = {**values, "id": flag_id, "project_id": project_id}
    _watch_conditions(connection, row, None, author.now)
    _record_activity(connection, author, "created", flag_id, values["key"], None)
    move_flag_version(connection, project_id)
    require_computable(connection, row, values, values["key"])
    return _existing_flag(connection, project_id, flag_id)


def change_flag(
    connection: Connection,
    author: Author,
    flag: StoredFlag,
    requested: Mapping[str, Any],
    *,
    alone: bool = True,
) -> StoredFlag:
    """Change a flag; a change that sets nothing new leaves the version as it is.

    Args:
        flag: Locked, so that concurrent changes decide on each other's outcome.
        requested: Values by column.
        alone: Whether flags must be computable afterwards. If several changes in one transaction
            need each other, the caller is responsible for that.

    Raises:
        Invalid: The flag would not be valid.
    """
    project_id, flag_id, row = author.project_id, flag.definition.id, columns_of(flag)
    values = changed_values(row, requested)
    if not values:
        return flag
    require_references(connection, project_id, flag, values)
    if "key" in values:
        _free_key(connection, project_id, values["key"])
    is_flag = (_flag.project_id == project_id) & (_flag.id == flag_id)
    connection.execute(
        update(feature_flags).where(is_flag).values(version=_flag.version + 1, **values)
    )
    if values.get("deleted"):
        require_no_running_experiment(connection, flag_id)
        _cancel_scheduled_changes(connection, flag_id)
    changed = {**row, **values}
    follow_flag(connection, author, row, changed)
    _watch_conditions(connection, changed, row, author.now)
    record_updated(
        connection,
        author,
        flag_id,
        changed["key"],
        [
            *changed_fields(SCOPE, row, changed, RECORDED_FIELDS),
            *follow_release(connection, author, row, flag_row(changed)),
        ],
    )
    move_flag_version(connection, project_id)
    if alone:
        require_computable(connection, changed, values, row["key"])
    return _existing_flag(connection, project_id, flag_id)


def changed_values(row: Mapping[str, Any], requested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that a change sets to another value.

    Args:
        row: From `columns_of`.
    """
    return {name: value for name, value in requested.items() if _differ_as_json(row[name], value)}


def require_references(
    connection: Connection, project_id: int, flag: StoredFlag | None, values: Mapping[str, Any]
) -> None:
    """Check the cohorts, dashboards, actions and segments that a change refers to.

    References that are already stored are not checked again.

    Args:
        flag: The stored flag; None for a new one.

    Raises:
        Invalid: One of them does not exist.
    """
    known = set() if flag is None else cohort_ids(flag.definition.filters)
    if "filters" in values:
        _require_cohorts(connection, project_id, cohort_ids(values["filters"]) - known)
    shown = () if flag is None else flag.analytics_dashboards
    added = set(values.get("analytics_dashboards") or ()).difference(shown)
    _require_dashboards(connection, project_id, sorted(added))
    if "rollback_conditions" in values:
        stored = None if flag is None else flag.rollback_conditions
        require_known_names(connection, project_id, values["rollback_conditions"], stored)


def record_updated(
    connection: Connection, author: Author, flag_id: int, key: str, changed: Sequence[Change]
) -> None:
    """Record changes in the flag's activity; nothing is written if there are none."""
    _record_activity(connection, author, "updated", flag_id, key, changed)


def related_change(
    field: Literal["role_access", "scheduled_change"],
    before: Mapping[str, Any] | None,
    after: Mapping[str, Any] | None,
) -> Change:
    """Return the change of something that belongs to a flag but is not one of its fields.

    That is a role that may edit the flag, or a scheduled change.

    Args:
        before: None if it was created.
        after: None if it was deleted.
    """
    action: Action = "created" if before is None else "deleted"
    return Change(type=SCOPE, action=action, field=field, before=before, after=after)


def _record_activity(
    connection: Connection,
    author: Author,
    activity: Literal["created", "updated"],
    flag_id: int,
    key: str,
    changed: Sequence[Change] | None,
) -> None:
    record = ActivityRecord(
        author=author,
        scope=SCOPE,
        item_id=str(flag_id),
        activity=activity,
        name=key,
        changes=changed,
    )
    outbox_store.record_and_enqueue(connection, record)


def _existing_flag(connection: Connection, project_id: int, flag_id: int) -> StoredFlag:
    flag = get_flag(connection, project_id, flag_id)
    assert flag is not None
    return flag


def _watch_conditions(
    connection: Connection,
    flag: Mapping[str, Any],
    former: Mapping[str, Any] | None,
    now: datetime,
) -> None:
    """Schedule, keep or delete the check of a flag's rollback conditions.

    The first check is a whole interval after the flag was switched on or its conditions changed, so
    that a user who switches it on again has time to look.

    Args:
        flag: The stored values by column, after the change.
        former: The values before the change; None for a new flag.
    """
    if not (flag.get("rollback_conditions") or (former and former["rollback_conditions"])):
        return  # the case for most flags
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


def _cancel_scheduled_changes(connection: Connection, flag_id: int) -> None:
    """End the flag's scheduled changes that are not executed yet."""
    due = scheduled_changes.c.due_at
    connection.execute(
        update(scheduled_changes)
        .where(scheduled_changes.c.flag_id == flag_id, due.is_not(None))
        .values(due_at=None, failure_reason=FLAG_DELETED)
    )


def _require_cohorts(connection: Connection, project_id: int, ids: Collection[int]) -> None:
    """Raise Invalid if a cohort does not exist; a deleted one still does."""
    if ids:
        known = select(cohorts.c.id).where(
            cohorts.c.project_id == project_id, cohorts.c.id.in_(ids)
        )
        require_cohorts(ids, set(connection.scalars(known)).__contains__)


def _require_dashboards(connection: Connection, project_id: int, ids: Sequence[int]) -> None:
    """Raise Invalid for the first dashboard that does not exist."""
    known = known_dashboards(connection, project_id, ids) if ids else set()
    for dashboard_id in ids:
        if dashboard_id not in known:
            raise Invalid(
                f'Invalid pk "{dashboard_id}" - object does not exist.',
                code="does_not_exist",
                attr="analytics_dashboards",
            )


def _free_key(connection: Connection, project_id: int, key: str) -> None:
    """Purge a deleted flag with this key."""
    connection.execute(
        delete(feature_flags).where(
            _flag.project_id == project_id, _flag.key == key, _flag.deleted.is_(True)
        )
    )


def _differ_as_json(stored: object, requested: object) -> bool:
    """Return whether two values differ as JSON: True is not 1, and the order of keys counts."""
    return _encode(stored) != _encode(requested)
