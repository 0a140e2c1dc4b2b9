"""Security events in the activity log of each organization that the account's owner is in."""

from sqlalchemy import Connection, select

from fanion.accounts.security_events import SecurityEvent
from fanion.activity.model import ItemState, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.tables import memberships, users


def record_security_event(connection: Connection, event: SecurityEvent) -> None:
    """In the transaction of what happened. Of a user who is in no organization nothing is written:
    there is nobody to read it."""
    account = select(users.c.uuid, users.c.email).where(users.c.id == event.user_id)
    row = connection.execute(account).one_or_none()
    if row is None:
        return
    member = memberships.c
    theirs = select(member.organization_id).where(member.user_id == event.user_id)
    for organization_id in list(connection.scalars(theirs.order_by(member.organization_id))):
        change = OrganizationChange(
            organization_id=organization_id,
            scope="User",
            before=None,
            after=ItemState(str(row.uuid), row.email, event.details),
            user_id=event.by_user,
            now=event.now,
            activity=event.activity,
        )
        record_in_organization(connection, change)


async def write_security_events(records: Records, *events: SecurityEvent) -> None:
    """In a transaction of their own, where nothing else is written. raises: RecordsUnavailable"""
    async with records.write() as connection:
        for event in events:
            await connection.run_sync(record_security_event, event)
