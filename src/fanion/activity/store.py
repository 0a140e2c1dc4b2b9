"""The activity log in the records store."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Text,
    func,
    insert,
    or_,
    select,
    type_coerce,
)

from fanion.activity.model import (
    ActivityRecord,
    Author,
    Change,
    OrganizationAuthor,
    OrganizationChange,
    Scope,
    Trigger,
    organization_record,
)
from fanion.db.engine import Records
from fanion.db.schema.activity import activity_log
from fanion.db.schema.tables import projects, users

NAME_CHARS_MAX = 400  # longer names of items are cut

# The scope of entries about the account of a user, such as a sign-in.
ACCOUNTS: Scope = "User"
SYSTEM: Final = "system"

_entry = activity_log.c


@dataclass(frozen=True, slots=True)
class StoredActivity:
    """An entry of the activity log, as it was stored.

    Attributes:
        first_name: The user's; None if there is no user.
        email: The user's; None if there is no user.
    """

    scope: str
    item_id: str
    activity: str
    name: str
    changes: list[Change] | None
    trigger: Trigger | None
    first_name: str | None
    email: str | None
    created_at: datetime
    short_id: str | None = None


def record_activity(connection: Connection, entry: ActivityRecord) -> bool:
    """Write an entry in the transaction of its change, unless it is an update without changes.

    Returns:
        Whether the entry was written.
    """
    if entry.activity == "updated" and not entry.changes:
        return False
    changes = None if entry.changes is None else msgspec.to_builtins(list(entry.changes))
    author = entry.author
    connection.execute(
        insert(activity_log).values(
            project_id=author.project_id,
            organization_id=author.organization_id,
            user_id=author.user_id,
            scope=entry.scope,
            item_id=entry.item_id,
            activity=entry.activity,
            detail={
                "name": entry.name[:NAME_CHARS_MAX],
                "changes": changes,
                "short_id": entry.short_id,
                "trigger": None if author.trigger is None else msgspec.to_builtins(author.trigger),
            },
            created_at=author.now,
        )
    )
    return True


def record_in_organization(
    connection: Connection, by: OrganizationAuthor, change: OrganizationChange
) -> None:
    """Write the entry of a change into each project of the organization, oldest project first.

    The entries are written in the transaction of the change.
    """
    mine = select(projects.c.id).where(projects.c.organization_id == by.organization_id)
    for project_id in list(connection.scalars(mine.order_by(projects.c.id))):
        author = Author(by.organization_id, by.user_id, by.now, project_id=project_id)
        record_activity(connection, organization_record(author, change))


@dataclass(frozen=True, slots=True)
class ActivityFilters:
    """The filters of a list of entries; None for no filter.

    Attributes:
        scopes: The kinds of items; empty for all.
        user: The author; `SYSTEM` for entries without a user.
        activity: What happened, for example `deleted`.
        text: A part of the item's name or of a changed value.
        since: Inclusive.
        until: Exclusive.
    """

    scopes: Sequence[str] = ()
    user: UUID | Literal["system"] | None = None
    activity: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def conditions(self) -> list[ColumnElement[bool]]:
        conditions: list[ColumnElement[bool]] = []
        if self.scopes:
            conditions.append(_entry.scope.in_(self.scopes))
        if self.user == SYSTEM:
            conditions.append(_entry.user_id.is_(None))
        elif self.user is not None:
            author = select(users.c.id).where(users.c.uuid == self.user).scalar_subquery()
            conditions.append(_entry.user_id == author)
        if self.activity is not None:
            conditions.append(_entry.activity == self.activity)
        if self.text:
            # As it stands in JSON, without the quotes around it.
            part = msgspec.json.encode(self.text).decode()[1:-1]
            conditions.append(type_coerce(_entry.detail, Text).icontains(part, autoescape=True))
        if self.since is not None:
            conditions.append(_entry.created_at >= self.since)
        if self.until is not None:
            conditions.append(_entry.created_at < self.until)
        return conditions


async def page(
    records: Records,
    project_id: int,
    limit: int,
    offset: int,
    scope: str | None = None,
    item_id: str | None = None,
    only_account: UUID | None = None,
    filters: ActivityFilters | None = None,
) -> tuple[list[StoredActivity], int]:
    """Return one page of the entries, newest first, and the number of all that match.

    Args:
        scope: None for any.
        item_id: None for any.
        only_account: The user whose account's entries are included, such as sign-ins. None includes
            the entries of all accounts.
    """
    conditions = _conditions(project_id, scope, item_id)
    if filters is not None:
        conditions += filters.conditions
    if only_account is not None:
        conditions.append(or_(_entry.scope != ACCOUNTS, _entry.item_id == str(only_account)))
    rows: Select[Any] = (
        select(
            _entry.scope,
            _entry.item_id,
            _entry.activity,
            _entry.detail,
            _entry.created_at,
            users.c.first_name,
            users.c.email,
        )
        .select_from(activity_log.outerjoin(users, users.c.id == _entry.user_id))
        .where(*conditions)
        .order_by(_entry.created_at.desc(), _entry.id.desc())
        .limit(limit)
        .offset(offset)
    )
    async with records.read() as connection:
        total = await connection.scalar(
            select(func.count()).select_from(activity_log).where(*conditions)
        )
        return [_activity_of_row(row) for row in await connection.execute(rows)], total or 0


def _conditions(
    project_id: int, scope: str | None, item_id: str | None
) -> list[ColumnElement[bool]]:
    conditions = [_entry.project_id == project_id]
    if scope is not None:
        conditions.append(_entry.scope == scope)
    if item_id is not None:
        conditions.append(_entry.item_id == item_id)
    return conditions


def _activity_of_row(row: Row[Any]) -> StoredActivity:
    changes, trigger = row.detail["changes"], row.detail["trigger"]
    return StoredActivity(
        row.scope,
        row.item_id,
        row.activity,
        row.detail["name"],
        None if changes is None else msgspec.convert(changes, list[Change]),
        None if trigger is None else msgspec.convert(trigger, Trigger),
        row.first_name,
        row.email,
        row.created_at,
        row.detail["short_id"],
    )
