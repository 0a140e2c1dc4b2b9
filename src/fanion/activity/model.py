"""Entries of the activity log: who changed what, and which fields differ.

Source: flags.md, section 14.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import Struct

Action = Literal["created", "changed", "deleted"]
JobType = Literal["scheduled_change", "auto_rollback", "guarded_release"]

Scope = Literal[
    "FeatureFlag",
    "Cohort",
    "Action",
    "EventDefinition",
    "PropertyDefinition",
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
    "Annotation",
    "Segment",
    "Experiment",
    "ExperimentHoldout",
    "ExperimentSavedMetric",
    "BatchExport",
]

_encode = msgspec.json.Encoder(order="deterministic").encode


class Change(Struct, frozen=True, kw_only=True):
    """One field of an item that differs after a change.

    Attributes:
        type: The scope of the entry.
        before: None for a field that was absent.
        after: None for a field that is absent now.
    """

    type: str
    action: Action
    field: str
    before: Any = None
    after: Any = None


class Trigger(Struct, frozen=True, kw_only=True):
    """The job that made an automatic change.

    Attributes:
        job_id: Unique among the jobs of its type.
        payload: The scheduled operation, or the measurement that led to a rollback.
    """

    job_type: JobType
    job_id: str
    payload: Any


@dataclass(frozen=True, slots=True)
class OrganizationAuthor:
    """The organization and the user of a change; in a request `ManagementRequest.author_in`.

    Attributes:
        user_id: None for the server itself, and for an operator at the command line.
    """

    organization_id: UUID
    user_id: int | None
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Author(OrganizationAuthor):
    """The project and the user of a change. In a request it is `ManagementRequest.author`.

    Attributes:
        trigger: The cause of an automatic change; None for a change by a user.
    """

    project_id: int
    trigger: Trigger | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityRecord:
    """An entry of the activity log that is to be written.

    Attributes:
        scope: The kind of the item.
        item_id: The id as text.
        activity: `created`, `updated`, `deleted`, `imported` or another word.
        name: The name of the item after the change.
        changes: None if there is no former state to compare with, for example at a creation.
        short_id: Only for an insight.
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
    """An item before or after a change.

    Attributes:
        fields: In the order in which the changes are listed.
    """

    item_id: str
    name: str
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationChange:
    """A change of an item that belongs to an organization, not to one project.

    Attributes:
        before: None for a new item.
        after: None for a deleted item. At least one of `before` and `after` is given.
        activity: What happened, if nothing was created, changed or deleted. The fields of `after`
            then describe the circumstances.
    """

    scope: Literal[
        "Role",
        "ResourceAccess",
        "PersonalAPIKey",
        "OrganizationMembership",
        "OrganizationInvite",
        "Organization",
        "Project",
        "User",
    ]
    before: ItemState | None
    after: ItemState | None
    activity: str | None = None


def changed_fields(
    scope: str, before: Mapping[str, Any], after: Mapping[str, Any], fields: Iterable[str]
) -> list[Change]:
    """Return the fields that differ as JSON, in the order of `fields`.

    An absent field counts as null.

    Args:
        scope: For example "FeatureFlag", as in `ActivityRecord`.
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


def url_without_path(url: str) -> str:
    """Return scheme and host of a URL, for members who may not see a secret in its path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _action(before: object, after: object) -> Action:
    if before is None:
        return "created"
    return "deleted" if after is None else "changed"


def _differ(before: object, after: object) -> bool:
    """Compare as JSON, because in Python True equals 1."""
    return _encode(before) != _encode(after)


def item_record(
    author: Author,
    scope: Scope,
    before: ItemState | None,
    after: ItemState | None,
    short_id: str | None = None,
) -> ActivityRecord:
    """Build the entry of an item that was created, updated or deleted.

    Args:
        before: None for a new item.
        after: None for a deleted item.
    """
    item, differing = after or before, None
    assert item is not None
    activity = "created" if before is None else "deleted"
    if before is not None and after is not None:
        activity = "updated"
        differing = changed_fields(scope, before.fields, after.fields, before.fields)
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
    """Build the entry for one project of the organization.

    Args:
        author: The author of the change, with the id of this project.
    """
    if change.activity is None or change.after is None:
        return item_record(author, change.scope, change.before, change.after)
    fields = change.after.fields
    return ActivityRecord(
        author=author,
        scope=change.scope,
        item_id=change.after.item_id,
        activity=change.activity,
        name=change.after.name,
        changes=changed_fields(change.scope, {}, fields, fields),
    )
