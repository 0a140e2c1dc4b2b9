"""The first proof that the address of an account belongs to its user.

Somebody else may have had the account before: an invite shows its link to its author, who could
accept it for a colleague and wait until the colleague signs in.
"""

from datetime import datetime

from sqlalchemy import Connection, delete, select, update

from fanion.accounts.security_events_store import SecurityEvent, record_security_event
from fanion.activity.model import OrganizationAuthor
from fanion.db.schema.accounts import (
    oidc_identities,
    pending_sign_ins,
    recovery_codes,
    second_factors,
    sessions,
    sign_in_links,
)
from fanion.db.schema.tables import memberships, personal_api_keys, users
from fanion.projects.admin_store import NO_PASSWORD
from fanion.projects.auth.personal_keys_store import revoke_keys_of
from fanion.projects.invites.store import revoke_invites_of

_user = users.c


def claim_by_provider(connection: Connection, user_id: int, now: datetime) -> bool:
    """End whatever gives access to an account, if the provider is the first to verify its address.

    Sessions, personal keys, the password, the second factor, links, identities of other providers
    and invites that were created with the account are removed.

    Returns:
        Whether the address had not been verified.
    """
    if _is_verified(connection, user_id):
        return False
    for table in (sessions, pending_sign_ins, sign_in_links, recovery_codes, second_factors):
        connection.execute(delete(table).where(table.c.user_id == user_id))
    connection.execute(delete(oidc_identities).where(oidc_identities.c.user_id == user_id))
    revoke_keys_of(connection, user_id, now, None)
    _revoke_invites(connection, user_id, now)
    connection.execute(update(users).where(_user.id == user_id).values(password_hash=NO_PASSWORD))
    _mark_verified(connection, user_id, "oidc", now)
    return True


def claim_by_mail(connection: Connection, user_id: int, now: datetime) -> None:
    """Mark the address as verified after its user has set a password with a mailed link.

    It is not marked while the account has personal keys or a second factor: they may belong to
    another person. They stay until a provider verifies the address or their owner removes them.
    """
    if _is_verified(connection, user_id):
        return
    for table in (personal_api_keys, second_factors):
        if connection.scalar(select(table.c.user_id).where(table.c.user_id == user_id).limit(1)):
            return
    _mark_verified(connection, user_id, "link", now)


def _is_verified(connection: Connection, user_id: int) -> bool:
    this = select(_user.is_email_verified).where(_user.id == user_id)
    return bool(connection.scalar(this.with_for_update()))


def _mark_verified(connection: Connection, user_id: int, method: str, now: datetime) -> None:
    connection.execute(update(users).where(_user.id == user_id).values(is_email_verified=True))
    event = SecurityEvent(
        activity="email_verified",
        user_id=user_id,
        by_user=user_id,
        now=now,
        details={"method": method},
    )
    record_security_event(connection, event)


def _revoke_invites(connection: Connection, user_id: int, now: datetime) -> None:
    member = memberships.c
    organization_ids = select(member.organization_id).where(member.user_id == user_id)
    for organization_id in list(
        connection.scalars(organization_ids.order_by(member.organization_id))
    ):
        author = OrganizationAuthor(organization_id, None, now)
        revoke_invites_of(connection, author, user_id, None)
