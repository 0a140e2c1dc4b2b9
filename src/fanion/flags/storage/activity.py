"""Activity of a flag, recorded with what webhooks are sent, in the transaction of the change.

source: flags.md section 14
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Action, ActivityRecord, Author, Change, changes
from fanion.webhooks import outbox_store

SCOPE = "FeatureFlag"

# The stored fields whose changes are recorded, in this order. Left out is what no user sets by
# hand, and who made the flag when.
RECORDED_FIELDS = (
    "key",
    "name",
    "filters",
    "deleted",
    "active",
    "rollback_conditions",
    "performed_rollback",
    "ensure_experience_continuity",
    "tags",
    "analytics_dashboards",
    "has_enriched_analytics",
    "bucketing_identifier",
    "evaluation_runtime",
    "evaluation_contexts",
)


def recorded_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """before, after: stored values by column"""
    return changes(SCOPE, before, after, RECORDED_FIELDS)


def role_change(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Change:
    """A role was given the flag, or lost it. before, after: the role, None where it has none"""
    return _related_change("role_access", before, after)


def scheduled_change(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Change:
    """A change was scheduled, or taken back. before, after: the change, None where there is none"""
    return _related_change("scheduled_change", before, after)


def _related_change(
    field: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Change:
    """Of something that belongs to the flag and is no field of it."""
    action: Action = "created" if before is None else "deleted"
    return Change(type=SCOPE, action=action, field=field, before=before, after=after)


def record_created(connection: Connection, author: Author, flag_id: int, key: str) -> None:
    outbox_store.record_and_enqueue(
        connection,
        ActivityRecord(
            author=author, scope="FeatureFlag", item_id=str(flag_id), activity="created", name=key
        ),
    )


def record_changed(
    connection: Connection,
    author: Author,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    """before, after: rows of the flag; nothing is written when they are equal"""
    record_updated(connection, author, before["id"], after["key"], recorded_changes(before, after))


def record_updated(
    connection: Connection, author: Author, flag_id: int, key: str, changes: list[Change]
) -> None:
    outbox_store.record_and_enqueue(
        connection,
        ActivityRecord(
            author=author,
            scope="FeatureFlag",
            item_id=str(flag_id),
            activity="updated",
            name=key,
            changes=changes,
        ),
    )
