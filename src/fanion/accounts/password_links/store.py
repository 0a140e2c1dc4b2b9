"""Links that set a password, created for the operator to hand over."""

from datetime import datetime, timedelta

from sqlalchemy import Connection

from fanion.accounts.links_store import create_link
from fanion.accounts.model import Purpose
from fanion.accounts.security_events_store import SecurityEvent, record_security_event
from fanion.db.engine import Records

MAILED_LASTS = timedelta(hours=1)
PRINTED_LASTS = timedelta(hours=24)  # for links that the first start or the operator prints
# Paths below the URL of this server.
PATHS = {
    Purpose.FIRST_START: "/api/sign_in_links/",
    Purpose.RESET: "/api/reset/",
    Purpose.MAILED_RESET: "/api/reset/",
}


def link_address(base_url: str, purpose: Purpose, token: str) -> str:
    """Return the URL of a link.

    Args:
        base_url: The URL of this server, without a slash at its end.
    """
    return f"{base_url}{PATHS[purpose]}{token}/"


async def first_link(records: Records, base_url: str, user_id: int, now: datetime) -> str:
    """Create the one-time sign-in link for the owner of a new installation.

    Args:
        base_url: The URL of this server, without a slash at its end.
    """

    def create(connection: Connection) -> str:
        return create_link(connection, Purpose.FIRST_START, user_id, now, PRINTED_LASTS)

    async with records.write() as connection:
        token = await connection.run_sync(create)
    return link_address(base_url, Purpose.FIRST_START, token)


async def reset_link(records: Records, base_url: str, user_id: int, now: datetime) -> str:
    """Create the link with which a user sets a new password, and record it in the activity log."""
    event = SecurityEvent(
        activity="password_reset_requested",
        user_id=user_id,
        by_user=None,
        now=now,
        details={"method": "command line"},
    )

    def create(connection: Connection) -> str:
        record_security_event(connection, event)
        return create_link(connection, Purpose.RESET, user_id, now, PRINTED_LASTS)

    async with records.write() as connection:
        token = await connection.run_sync(create)
    return link_address(base_url, Purpose.RESET, token)
