"""Entries of the activity log: who changed what, and which fields differ.

source: flags.md section 14
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

Action = Literal["created", "changed", "deleted"]
JobType = Literal["scheduled_change", "auto_rollback"]

Scope = Literal[
    "FeatureFlag",
    "Cohort",
    "EventDefinition",
    "Person",
    "Project",
    "Webhook",
    "Insight",
    "Dashboard",
    "Role",
    "ResourceAccess",
    "PersonalAPIKey",
    "OrganizationMembership",
    "Organization",
    "User",
    "OrganizationInvite",
    "AlertConfiguration",
]

_encode = msgspec.json.Encoder(order="deterministic").encode


class Change(Struct, frozen=True, kw_only=True):
    """type: the scope of the entry"""

    type: str
    action: Action
    field: str
    before: Any = None
    after: Any = None


class Trigger(Struct, frozen=True, kw_only=True):
    """Job that made an automatic change.

    job_id:  unique among the jobs of its type
    payload: the scheduled operation, or the measurement
    """

    job_type: JobType
    job_id: str
    payload: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """Project and user of a change; of a request `ManagementRequest.author`.

    user_id: None for the server itself, and for the operator at the command line
    trigger: of an automatic change; None for a change by a user
    """

    project_id: int
    organization_id: UUID
    user_id: int | None
    now: datetime
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityRecord:
    """scope:    kind of the item
    item_id:  as text
    activity: `created`, `updated`, `deleted`, `imported` or another word
    name:     of the item after the change
    changes:  None without a former state, as at a creation
    short_id: of an insight
    """

    author: Author
    scope: Scope
    item_id: str
    activity: str
    name: str
    changes: Sequence[Change] | None = None
    short_id: str | None = None


@dataclass(frozen=True, slots=True)
class ItemState:
    """Item before or after a change. fields: in the order of the changes"""

    item_id: str
    name: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationChange:
    """Change of an item that belongs to an organization, not to one project.

    before:   None for a new item
    after:    None for a deleted one; one of the two is given
    user_id:  as of `Author`
    activity: what happened, where nothing was created, changed or deleted; the fields of `after`
              are then its circumstances
    """

    organization_id: UUID
    scope: Literal[
        "Role",
        "ResourceAccess",
        "PersonalAPIKey",
        "OrganizationMembership",
        "OrganizationInvite",
        "Organization",
        "User",
    ]
    before: ItemState | None
    after: ItemState | None
    user_id: int | None
    now: datetime
    activity: str | None = None


def changes(
    scope: str, before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]
) -> list[Change]:
    """The fields that differ as JSON, in the order of `fields`; an absent field is null.

    scope: as in `ActivityRecord`, for example "FeatureFlag"
    """
    return [
        Change(
            type=scope,
            action=_action(before.get(field), after.get(field)),
            field=field,
            before=before.get(field),
            after=after.get(field),
        )
        for field in fields
        if _differ(before.get(field), after.get(field))
    ]


def _action(before: object, after: object) -> Action:
    if before is None:
        return "created"
    return "deleted" if after is None else "changed"


def _differ(before: object, after: object) -> bool:
    """Compared as JSON: in Python True equals 1."""
    return _encode(before) != _encode(after)


def item_record(
    author: Author,
    scope: Scope,
    before: ItemState | None,
    after: ItemState | None,
    short_id: str | None = None,
) -> ActivityRecord:
    """Created, deleted, or updated in the fields that differ, by which of the two are given."""
    item, differing = after or before, None
    assert item is not None
    activity = "created" if before is None else "deleted"
    if before is not None and after is not None:
        activity = "updated"
        differing = changes(scope, before.fields, after.fields, before.fields)
    return ActivityRecord(
        author=author,
        scope=scope,
        item_id=item.item_id,
        activity=activity,
        name=item.name,
        changes=differing,
        short_id=short_id,
    )


def organization_record(author: Author, change: OrganizationChange) -> ActivityRecord:
    """The entry of one of its projects. author: of the change, in this project"""
    if change.activity is None or change.after is None:
        return item_record(author, change.scope, change.before, change.after)
    fields = change.after.fields
    return ActivityRecord(
        author=author,
        scope=change.scope,
        item_id=change.after.item_id,
        activity=change.activity,
        name=change.after.name,
        changes=changes(change.scope, {}, fields, fields),
    )
