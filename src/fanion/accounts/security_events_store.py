"""Security events of an account, in the activity log of each organization of its owner."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from sqlalchemy import Connection, select

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, users

# `logged_in` and `logged_out` are PostHog's words.
SecurityActivity = Literal[
    "logged_in",
    "login_failed",
    "logged_out",
    "session_ended",
    "password_changed",
    "password_reset_requested",
    "email_changed",
    "email_verified",
    "second_factor_added",
    "second_factor_removed",
    "recovery_codes_replaced",
    "recovery_code_used",
]
SECURITY_ACTIVITIES: tuple[str, ...] = get_args(SecurityActivity)


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityEvent:
    """An event of an account, such as a sign-in or a new password.

    Attributes:
        user_id: The owner of the account.
        by_user: The user who caused it; None for the operator, the server, and clients that are not
            signed in.
        details: Circumstances, such as `method` and `address`; never a secret.
    """

    activity: SecurityActivity
    user_id: int
    by_user: int | None
    now: datetime
    details: Mapping[str, Any] = field(default_factory=dict)


def by_owner(
    activity: SecurityActivity, user_id: int, now: datetime, **details: Any
) -> SecurityEvent:
    """Build an event that the account's owner caused."""
    return SecurityEvent(
        activity=activity, user_id=user_id, by_user=user_id, now=now, details=details
    )


def record_security_event(connection: Connection, event: SecurityEvent) -> None:
    """Record an event in the caller's transaction.

    Nothing is written for a user who is in no organization: no activity log would show it.
    """
    account = select(users.c.uuid, users.c.email).where(users.c.id == event.user_id)
    row = connection.execute(account).one_or_none()
    if row is None:
        return
    after = ItemState(str(row.uuid), row.email, event.details)
    change = OrganizationChange(scope="User", before=None, after=after, activity=event.activity)
    member = memberships.c
    organization_ids = select(member.organization_id).where(member.user_id == event.user_id)
    for organization_id in list(
        connection.scalars(organization_ids.order_by(member.organization_id))
    ):
        author = OrganizationAuthor(organization_id, event.by_user, event.now)
        record_in_organization(connection, author, change)


async def write_security_events(records: Records, *events: SecurityEvent) -> None:
    """Record events in their own transaction.

    Raises:
        RecordsUnavailable: The records store does not answer.
    """
    async with records.write() as connection:
        for event in events:
            await connection.run_sync(record_security_event, event)
