"""Links that set a password, made for the operator to hand over."""

from datetime import datetime

from sqlalchemy import Connection

from fanion.accounts.links_store import create_link
from fanion.accounts.model import Purpose
from fanion.accounts.password_links import PRINTED_LASTS, link_address
from fanion.accounts.security_events import SecurityEvent
from fanion.accounts.security_events_store import record_security_event
from fanion.db.engine import Records


async def first_link(records: Records, base_url: str, user_id: int, now: datetime) -> str:
    """With which the owner of a new installation signs in. base_url: as of `link_address`"""

    def create(connection: Connection) -> str:
        return create_link(connection, Purpose.FIRST_START, user_id, now, PRINTED_LASTS)

    async with records.write() as connection:
        token = await connection.run_sync(create)
    return link_address(base_url, Purpose.FIRST_START, token)


async def reset_link(records: Records, base_url: str, user_id: int, now: datetime) -> str:
    """With which a user sets a new password; that it was made is in the activity."""
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
