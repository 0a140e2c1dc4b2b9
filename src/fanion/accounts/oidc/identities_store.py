"""The users of the provider's identities, and their access by groups, in the records store."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid4

from sqlalchemy import Connection, Row, Select, delete, insert, or_, select, update

from fanion.accounts.oidc.model import GrantedAccess, OidcIdentity, OidcSettings, granted_access
from fanion.accounts.own_account.claim_store import claim_by_provider
from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.accounts import oidc_identities
from fanion.db.schema.organizations import role_memberships, roles
from fanion.db.schema.tables import memberships, organizations, users
from fanion.projects.admin_store import NO_PASSWORD
from fanion.projects.auth.keys import KEY_BYTES
from fanion.projects.model import Level
from fanion.projects.roles.model import folded
from fanion.projects.roles.store import add_role_member, load_roles, record_role

# The level of a user whose groups name none.
LEVEL = Level.MEMBER

_identity, _user, _member = oidc_identities.c, users.c, memberships.c


def _do_nothing(user_id: int) -> None:
    """Do nothing, because nothing is cached."""


@dataclass(frozen=True, slots=True)
class IdentityStore:
    """The users of the provider's identities.

    Access by groups concerns the first organization, the only one that setup creates. Changes are
    in the activity log of its projects, without a user, because the provider makes them.

    Attributes:
        claimed: Called with the id of a user whose sessions and keys have ended, because the
            provider is the first to verify the address of the account.
    """

    records: Records
    settings: OidcSettings
    claimed: Callable[[int], None] = _do_nothing

    async def user_of(self, identity: OidcIdentity, now: datetime) -> int | None:
        """Return the user who signs in with this identity, with the access its groups give now.

        Returns:
            None if there is no such user, or the user may not sign in.
        """
        async with self.records.write() as connection:
            signed_in = await connection.run_sync(_sign_in, identity, self.settings, now)
        if signed_in is None:
            return None
        if signed_in.is_claimed:
            self.claimed(signed_in.user_id)
        return signed_in.user_id


class _SignedIn(NamedTuple):
    """A user who may sign in.

    Attributes:
        is_claimed: Whether the provider is the first to verify the address of the account.
    """

    user_id: int
    is_claimed: bool


def _sign_in(
    connection: Connection, identity: OidcIdentity, settings: OidcSettings, now: datetime
) -> _SignedIn | None:
    organization_id = _lock_first_organization(connection)
    if organization_id is None:
        return None
    user_id = known = _user_with_identity(connection, identity)
    if user_id is None and settings.is_trusted_address(identity):
        user_id = _user_with_address(connection, identity)
        if user_id is None and settings.creates_accounts:
            user_id = _create_user(connection, organization_id, identity, now)
    if user_id is None or not _may_sign_in(connection, user_id):
        return None
    is_claimed = known is None and claim_by_provider(connection, user_id, now)
    _store_identity(connection, identity, user_id, now)
    access = granted_access(settings.groups, identity.groups, LEVEL)
    _grant_access(connection, organization_id, user_id, access, now)
    return _SignedIn(user_id, is_claimed)


def _lock_first_organization(connection: Connection) -> UUID | None:
    """Lock the first organization, so that concurrent sign-ins of a new user create one account."""
    first = select(organizations.c.id).order_by(organizations.c.created_at, organizations.c.id)
    return connection.scalar(first.limit(1).with_for_update())


def _user_with_identity(connection: Connection, identity: OidcIdentity) -> int | None:
    return connection.scalar(
        select(_identity.user_id).where(
            _identity.issuer == identity.issuer, _identity.subject == identity.subject
        )
    )


def _user_with_address(connection: Connection, identity: OidcIdentity) -> int | None:
    """Return the user with the identity's address, if the address identifies them.

    A provider may give the address of a former user to another person, so a user who has an
    identity of this provider is found only by that identity. An address that a user has chosen and
    that was not verified may belong to a person who has yet to sign in, so it does not count.
    """
    other = select(_identity.user_id).where(
        _identity.user_id == _user.id, _identity.issuer == identity.issuer
    )
    return connection.scalar(
        select(_user.id).where(
            _user.email == identity.verified_email,
            or_(_user.email_chosen_by_owner.is_not(True), _user.is_email_verified),
            ~other.exists(),
        )
    )


def _may_sign_in(connection: Connection, user_id: int) -> bool:
    member = select(_member.user_id).where(_member.user_id == _user.id).exists()
    active = select(_user.id).where(_user.id == user_id, _user.is_active, member)
    return connection.execute(active).first() is not None


def _create_user(
    connection: Connection, organization_id: UUID, identity: OidcIdentity, now: datetime
) -> int | None:
    """Create a user. Return None if any user has the address already, even a disabled one."""
    email = identity.verified_email
    if connection.execute(select(_user.id).where(_user.email == email)).first() is not None:
        return None
    statement = insert(users).values(
        uuid=uuid4(),
        distinct_id=secrets.token_urlsafe(KEY_BYTES),
        email=email,
        first_name=identity.first_name,
        password_hash=NO_PASSWORD,
        is_active=True,
        is_email_verified=True,
        current_project_id=None,
        created_at=now,
    )
    user_id = int(connection.execute(statement.returning(_user.id)).scalar_one())
    connection.execute(
        insert(memberships).values(
            organization_id=organization_id, user_id=user_id, level=LEVEL, joined_at=now
        )
    )
    added = _membership(connection, organization_id, user_id)
    assert added is not None
    _record_membership(connection, organization_id, None, _membership_state(added), now)
    return user_id


def _store_identity(
    connection: Connection, identity: OidcIdentity, user_id: int, now: datetime
) -> None:
    which = (_identity.issuer == identity.issuer, _identity.subject == identity.subject)
    used = update(oidc_identities).where(*which).values(last_used_at=now)
    if not connection.execute(used).rowcount:
        connection.execute(
            insert(oidc_identities).values(
                issuer=identity.issuer,
                subject=identity.subject,
                user_id=user_id,
                created_at=now,
                last_used_at=now,
            )
        )


def _grant_access(
    connection: Connection,
    organization_id: UUID,
    user_id: int,
    access: GrantedAccess,
    now: datetime,
) -> None:
    member = _membership(connection, organization_id, user_id)
    if member is None:
        return
    # Groups neither give nor take the level of an owner, so that there is always one.
    if access.level is not None and member.level not in (access.level, Level.OWNER):
        connection.execute(
            update(memberships)
            .where(_member.organization_id == organization_id, _member.user_id == user_id)
            .values(level=access.level)
        )
        after = _membership_state(member) | {"level": int(access.level)}
        _record_membership(connection, organization_id, _membership_state(member), after, now)
    if access.managed:
        _set_roles(connection, organization_id, member, access, now)


def _set_roles(
    connection: Connection,
    organization_id: UUID,
    member: Row[Any],
    access: GrantedAccess,
    now: datetime,
) -> None:
    """Put the member into the roles that the groups give, ignoring roles that do not exist."""
    by = OrganizationAuthor(organization_id, None, now)
    given = {folded(name) for name in access.roles}
    managed = {folded(name) for name in access.managed}
    known = connection.execute(
        select(roles.c.id, roles.c.folded_name, role_memberships.c.id.label("membership_id"))
        .outerjoin(
            role_memberships,
            (role_memberships.c.role_id == roles.c.id)
            & (role_memberships.c.user_id == member.user_id),
        )
        .where(roles.c.organization_id == organization_id, roles.c.folded_name.in_(managed))
        .order_by(roles.c.id)
        .with_for_update(of=roles)
    )
    for role_id, name, membership_id in known.all():
        if (membership_id is not None) == (name in given):
            continue
        before = load_roles(connection, [role_id])[role_id]
        if membership_id is None:
            add_role_member(connection, by, role_id, member.uuid)
        else:
            connection.execute(
                delete(role_memberships).where(role_memberships.c.id == membership_id)
            )
        after = load_roles(connection, [role_id])[role_id]
        record_role(connection, by, before, after)


def _membership(connection: Connection, organization_id: UUID, user_id: int) -> Row[Any] | None:
    columns = (_member.user_id, _member.level, _user.uuid, _user.email, _user.is_active)
    statement: Select[Any] = (
        select(*columns)
        .join(users, _user.id == _member.user_id)
        .where(_member.organization_id == organization_id, _member.user_id == user_id)
    )
    return connection.execute(statement).first()


def _membership_state(member: Row[Any]) -> dict[str, Any]:
    return {
        "uuid": str(member.uuid),
        "email": member.email,
        "level": int(member.level),
        "is_active": member.is_active,
    }


def _record_membership(
    connection: Connection,
    organization_id: UUID,
    before: dict[str, Any] | None,
    after: dict[str, Any],
    now: datetime,
) -> None:
    change = OrganizationChange(
        scope="OrganizationMembership",
        before=None if before is None else _item_state(before),
        after=_item_state(after),
    )
    record_in_organization(connection, OrganizationAuthor(organization_id, None, now), change)


def _item_state(member: dict[str, Any]) -> ItemState:
    fields = {name: member[name] for name in ("level", "is_active")}
    return ItemState(member["uuid"], member["email"], fields)
