"""The settings of an organization, and what members may change, in the records store."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, delete, insert, select, update

from fanion.activity.model import ItemState, OrganizationAuthor, OrganizationChange
from fanion.activity.store import record_in_organization
from fanion.db.engine import Records
from fanion.db.schema.accounts import second_factors
from fanion.db.schema.organizations import resource_access
from fanion.db.schema.tables import memberships, organizations, users
from fanion.errors import Invalid, NotFound
from fanion.projects.admin_store import NO_PASSWORD
from fanion.projects.model import Organization, UserSummary, user_summary
from fanion.projects.organizations.model import (
    FEATURE_FLAGS,
    AccessLevel,
    Manager,
    ResourceAccess,
)

# Columns of a statement that joins a user, null if there is none. `user_summary` reads them.
USER_SUMMARY = tuple(users.c[name].label(f"by_{name}") for name in UserSummary.__struct_fields__)
_member = memberships.c


def read_user_summaries(
    connection: Connection, ids: Iterable[int | None]
) -> Mapping[int, UserSummary]:
    """Return the summaries of users, by id."""
    user_ids = {user_id for user_id in ids if user_id is not None}
    if not user_ids:
        return {}
    statement = select(*USER_SUMMARY).where(users.c.id.in_(user_ids))
    return {row.by_id: UserSummary(*row) for row in connection.execute(statement)}


def lock_members(connection: Connection, organization_id: UUID) -> None:
    """Let concurrent changes of an organization's members wait for each other.

    Otherwise two owners could give up that level at the same time.
    """
    statement = select(organizations.c.id).where(organizations.c.id == organization_id)
    connection.execute(statement.with_for_update())


def manager_of(connection: Connection, organization_id: UUID, user_id: int) -> Manager:
    """Return an active member of the organization, or raise NotFound."""
    level = connection.scalar(
        select(_member.level)
        .join(users, users.c.id == _member.user_id)
        .where(_member.organization_id == organization_id, _member.user_id == user_id)
        .where(users.c.is_active)
    )
    if level is None:
        raise NotFound
    return Manager(user_id, level)


def change_organization(
    connection: Connection, by: OrganizationAuthor, changes: Mapping[str, Any]
) -> Organization:
    """Change an organization and return it.

    Args:
        changes: New values of `name`, `enforce_2fa` and `activity_kept_days`.

    Raises:
        Invalid: The author would be locked out.
    """
    if changes.get("enforce_2fa"):
        _require_own_factor(connection, by.user_id)
    this = organizations.c.id == by.organization_id
    connection.execute(select(organizations.c.id).where(this).with_for_update())
    before = _read_organization(connection, by.organization_id)
    connection.execute(update(organizations).where(this).values(**changes))
    after = _read_organization(connection, by.organization_id)
    former, latest = _organization_state(before), _organization_state(after)
    change = OrganizationChange(scope="Organization", before=former, after=latest)
    record_in_organization(connection, by, change)
    return after


def _read_organization(connection: Connection, organization_id: UUID) -> Organization:
    row = connection.execute(
        select(
            organizations.c.name, organizations.c.enforce_2fa, organizations.c.activity_kept_days
        ).where(organizations.c.id == organization_id)
    ).one()
    return Organization(organization_id, row.name, bool(row.enforce_2fa), row.activity_kept_days)


def _require_own_factor(connection: Connection, user_id: int | None) -> None:
    """Raise Invalid if the author of a requirement would be locked out by it.

    Users without a password sign in with the factors of their provider.
    """
    locked_out = connection.scalar(
        select(users.c.id)
        .outerjoin(second_factors, second_factors.c.user_id == users.c.id)
        .where(users.c.id == user_id, users.c.password_hash != NO_PASSWORD)
        .where(second_factors.c.confirmed_at.is_(None))
    )
    if locked_out is not None:
        raise Invalid(
            "You would lock yourself out: set up a second factor for your own account first.",
            code="own_second_factor_missing",
            attr="enforce_2fa",
        )


def _organization_state(organization: Organization) -> ItemState:
    fields = {
        "name": organization.name,
        "enforce_2fa": organization.enforce_2fa,
        "activity_kept_days": organization.activity_kept_days,
    }
    return ItemState(str(organization.id), organization.name, fields)


_access = resource_access.c


@dataclass(frozen=True, slots=True)
class OrganizationStore:
    """The settings of organizations.

    The activity log of the organization's projects records each change.
    """

    records: Records

    async def all_settings(self, organization_id: UUID) -> Sequence[ResourceAccess]:
        """Return at most one setting for each resource."""
        async with self.records.read() as connection:
            rows = await connection.execute(_select_settings(organization_id))
            return [_setting_of_row(row) for row in rows]

    async def get_setting(self, organization_id: UUID, setting_id: int) -> ResourceAccess:
        """Return a setting, or raise NotFound."""
        async with self.records.read() as connection:
            return await connection.run_sync(_get_setting, organization_id, setting_id)


def add_setting(connection: Connection, by: OrganizationAuthor, level: int) -> ResourceAccess:
    """Insert a setting.

    Raises:
        IntegrityError: The organization has one already.
    """
    statement = insert(resource_access).values(
        organization_id=by.organization_id,
        resource=FEATURE_FLAGS,
        access_level=level,
        created_by_id=by.user_id,
        created_at=by.now,
        updated_at=by.now,
    )
    added = connection.execute(statement.returning(_access.id)).scalar_one()
    setting = _get_setting(connection, by.organization_id, added)
    _record_setting(connection, by, None, setting)
    return setting


def set_setting(
    connection: Connection, by: OrganizationAuthor, setting_id: int, level: int
) -> ResourceAccess:
    """Change the level of a setting, or raise NotFound."""
    is_setting = (_access.organization_id == by.organization_id, _access.id == setting_id)
    connection.execute(select(_access.id).where(*is_setting).with_for_update())
    before = _get_setting(connection, by.organization_id, setting_id)
    values = {"access_level": level, "updated_at": by.now}
    connection.execute(update(resource_access).where(*is_setting).values(**values))
    after = _get_setting(connection, by.organization_id, setting_id)
    _record_setting(connection, by, before, after)
    return after


def delete_setting(connection: Connection, by: OrganizationAuthor, setting_id: int) -> None:
    """Delete a setting, or raise NotFound."""
    statement = delete(resource_access).where(
        _access.organization_id == by.organization_id, _access.id == setting_id
    )
    before = _get_setting(connection, by.organization_id, setting_id)
    if not connection.execute(statement).rowcount:
        raise NotFound
    _record_setting(connection, by, before, None)


def setting_of(connection: Connection, organization_id: UUID) -> AccessLevel | None:
    """Return the setting for feature flags, or None if the organization has none."""
    level = connection.scalar(
        select(_access.access_level).where(
            _access.organization_id == organization_id, _access.resource == FEATURE_FLAGS
        )
    )
    return None if level is None else AccessLevel(level)


def _record_setting(
    connection: Connection,
    by: OrganizationAuthor,
    before: ResourceAccess | None,
    after: ResourceAccess | None,
) -> None:
    former, latest = (None if item is None else _setting_state(item) for item in (before, after))
    change = OrganizationChange(scope="ResourceAccess", before=former, after=latest)
    record_in_organization(connection, by, change)


def _setting_state(setting: ResourceAccess) -> ItemState:
    fields = {"access_level": setting.access_level}
    return ItemState(str(setting.id), setting.resource, fields)


def _select_settings(organization_id: UUID) -> Select[Any]:
    return (
        select(
            _access.id,
            _access.resource,
            _access.access_level,
            _access.organization_id,
            _access.created_at,
            _access.updated_at,
            *USER_SUMMARY,
        )
        .select_from(resource_access.outerjoin(users, users.c.id == _access.created_by_id))
        .where(_access.organization_id == organization_id)
        .order_by(_access.id)
    )


def _get_setting(connection: Connection, organization_id: UUID, setting_id: int) -> ResourceAccess:
    row = connection.execute(
        _select_settings(organization_id).where(_access.id == setting_id)
    ).one_or_none()
    if row is None:
        raise NotFound
    return _setting_of_row(row)


def _setting_of_row(row: Any) -> ResourceAccess:
    return ResourceAccess(
        id=row[0],
        resource=row[1],
        access_level=row[2],
        organization=row[3],
        created_at=row[4],
        updated_at=row[5],
        created_by=user_summary(row),
    )
