"""Flags that roles may edit, and the resulting access of a user.

The access says which flags a user may edit, and which the user may share with a role.

Source: flags.md section 16.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Text, cast, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from fanion.activity.model import Author, OrganizationAuthor
from fanion.cohorts.criteria.definition import dependent_ids
from fanion.cohorts.store import live_criteria
from fanion.db.engine import Records
from fanion.db.schema.organizations import flag_role_access, role_memberships, roles
from fanion.db.schema.tables import feature_flags, memberships, users
from fanion.errors import Invalid, NotFound, PermissionDenied
from fanion.flags.definitions.changes_store import record_updated, related_change
from fanion.flags.definitions.store import live_flags
from fanion.flags.engine.definition import Flag, FlagRow, compile_flag
from fanion.projects.auth.model import Principal
from fanion.projects.model import Level, Project
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.organizations.store import setting_of
from fanion.projects.roles.model import Role
from fanion.projects.roles.store import load_roles, lock_roles
from fanion.projects.store import load_projects
from fanion.properties.filters import InCohort

NAMED_MAX = 10  # flags named in one error


@dataclass(frozen=True, slots=True)
class FlagAccess:
    """The access of one user to the flags of one project; every member may read them.

    Attributes:
        edits_all: Whether the user may edit every flag.
        given: Ids of the flags that may be edited by a role of the user.
        is_viewer: Whether the user may edit no flag, not even an own one, whatever the roles.
    """

    user_id: int
    edits_all: bool = True
    given: Collection[int] = ()
    is_viewer: bool = False

    def can_edit(self, flag_id: int, creator_id: int | None) -> bool:
        return not self.is_viewer and (self.can_share(creator_id) or flag_id in self.given)

    def can_share(self, creator_id: int | None) -> bool:
        """Return whether the user may change the flag's roles.

        If the flag's creator was deleted, nobody has this right as its creator.
        """
        return not self.is_viewer and (self.edits_all or creator_id == self.user_id)

    def require_edit(self, flag_id: int, creator_id: int | None) -> None:
        if not self.can_edit(flag_id, creator_id):
            raise PermissionDenied("You don't have edit permissions for this feature flag.")

    def require_audience(self, flags: Iterable[tuple[int, str, int | None]]) -> None:
        """Raise PermissionDenied, naming the flags, unless the user may edit all of these flags.

        Whoever changes the members of a cohort must be allowed to edit the flags that use it.

        Args:
            flags: Id, key and creator of each flag.
        """
        keys = [key for flag_id, key, creator_id in flags if not self.can_edit(flag_id, creator_id)]
        if keys:
            more = len(keys) - NAMED_MAX
            named = ", ".join(keys[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
            raise PermissionDenied(
                f"You don't have edit permissions for feature flags that use this cohort: {named}."
            )

    def require_share(self, creator_id: int | None) -> None:
        if not self.can_share(creator_id):
            raise PermissionDenied("You can't edit roles for this feature flag.")


def edits_all(*, is_admin: bool, setting: AccessLevel | None, role_levels: Sequence[int]) -> bool:
    """Return whether a user may edit every flag.

    Args:
        setting: What the organization allows every member; None if it is not set.
        role_levels: The levels of the user's roles, of which the highest counts.
    """
    if is_admin or setting is None or setting is AccessLevel.EDIT:
        return True
    return max(role_levels, default=setting) >= AccessLevel.EDIT


_access = flag_role_access.c
_flag = feature_flags.c
_COLUMNS = (_access.id, _access.role_id, _access.added_at, _access.updated_at)


@dataclass(frozen=True, slots=True)
class RoleAccess:
    """A role's permission to edit a flag."""

    id: int
    role: Role
    added_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class RoleAccessStore:
    """The roles that may edit flags.

    The flag must belong to the project given with it; otherwise it has no records here.
    """

    records: Records

    async def access_page(
        self, project_id: int, flag_id: int, limit: int, offset: int
    ) -> tuple[Sequence[RoleAccess], int]:
        """Return a page of a flag's records, oldest first, and their total number."""
        is_of_flag = _is_of_flag(project_id, flag_id)
        statement = (
            select(*_COLUMNS).where(is_of_flag).order_by(_access.id).limit(limit).offset(offset)
        )
        async with self.records.read() as connection:
            count = select(func.count()).select_from(flag_role_access).where(is_of_flag)
            total = (await connection.execute(count)).scalar_one()
            rows = (await connection.execute(statement)).all()
            return await connection.run_sync(_with_roles, rows), total

    async def get_access(self, project_id: int, flag_id: int, access_id: int) -> RoleAccess:
        async with self.records.read() as connection:
            return await connection.run_sync(_get_access, project_id, flag_id, access_id)

    async def create_access(self, author: Author, flag_id: int, role_id: UUID) -> RoleAccess:
        """Allow a role to edit a flag.

        Raises:
            NotFound: There is no such flag.
            Invalid: There is no such role, or it may edit the flag already.
        """
        try:
            async with self.records.write() as connection:
                return await connection.run_sync(give_flag, author, flag_id, role_id)
        except IntegrityError:
            raise Invalid(
                "This role already has access to this feature flag.", code="unique", attr="role_id"
            ) from None

    async def remove_access(self, author: Author, flag_id: int, access_id: int) -> None:
        async with self.records.write() as connection:
            await connection.run_sync(_remove_access, author, flag_id, access_id)


async def access_of(records: Records, principal: Principal, project: Project) -> FlagAccess:
    """Return the caller's access to the project's flags.

    Administrators and viewers cost no read.
    """
    user_id = principal.user.id
    known = _access_of_level(user_id, principal.levels[project.organization_id])
    if known is not None:
        return known
    async with records.read() as connection:
        return await connection.run_sync(
            _access_of_member, user_id, project.organization_id, project.id
        )


def access_now(
    connection: Connection, user_id: int, organization_id: UUID, project_id: int
) -> FlagAccess | None:
    """Return the current access of a user who is not the caller; None without a membership."""
    member = memberships.c
    level = connection.scalar(
        select(member.level)
        .join(users, users.c.id == member.user_id)
        .where(member.organization_id == organization_id, member.user_id == user_id)
        .where(users.c.is_active)
    )
    if level is None:
        return None
    known = _access_of_level(user_id, level)
    if known is not None:
        return known
    return _access_of_member(connection, user_id, organization_id, project_id)


def _access_of_level(user_id: int, level: int) -> FlagAccess | None:
    """Return the access that the level alone determines; None if roles and the setting decide."""
    if level >= Level.ADMIN:
        return FlagAccess(user_id)
    if level < Level.MEMBER:
        return FlagAccess(user_id, edits_all=False, is_viewer=True)
    return None


def guard_audience(connection: Connection, author: Author, cohort_id: int) -> None:
    """Raise PermissionDenied if a flag uses the cohort and the author may not edit that flag.

    Flags that use the cohort through other cohorts count too. Call it after the project's flag
    version has moved: from then on no other transaction changes the project's flags.
    """
    assert author.user_id is not None  # the server itself changes no cohorts
    access = access_now(connection, author.user_id, author.organization_id, author.project_id)
    if access is None:
        raise PermissionDenied("You don't have access to the project.")
    if access.edits_all:
        return
    using = _flags_using(connection, author.project_id, cohort_id)
    access.require_audience((flag.id, flag.key, creator_id) for flag, creator_id in using)


def active_flags_using(connection: Connection, project_id: int, cohort_id: int) -> list[str]:
    """Return the keys of active flags that use the cohort, directly or through other cohorts.

    Call it after the project's flag version has moved.
    """
    using = _flags_using(connection, project_id, cohort_id)
    return [flag.key for flag, _ in using if flag.active]


def _flags_using(
    connection: Connection, project_id: int, cohort_id: int
) -> list[tuple[Flag, int | None]]:
    """Return the flags that use the cohort, each with its creator's id, oldest first."""
    asking = cast(_flag.filters, Text).like('%cohort"%')
    rows = connection.execute(live_flags(project_id).add_columns(_flag.created_by_id).where(asking))
    used = dependent_ids(cohort_id, live_criteria(connection, project_id))
    flags = [(compile_flag(FlagRow(*row[:-1])), row.created_by_id) for row in rows]
    return [(flag, creator_id) for flag, creator_id in flags if used & _cohorts_asked(flag)]


def _cohorts_asked(flag: Flag) -> set[int]:
    leaves = () if flag.rules is None else flag.rules.leaves()
    return {leaf.cohort_id for leaf in leaves if isinstance(leaf, InCohort)}


def _access_of_member(
    connection: Connection, user_id: int, organization_id: UUID, project_id: int
) -> FlagAccess:
    setting = setting_of(connection, organization_id)
    if setting is None or setting is AccessLevel.EDIT:
        return FlagAccess(user_id)
    has_role = role_memberships.c.user_id == user_id
    levels = connection.scalars(
        select(roles.c.feature_flags_access_level)
        .join(role_memberships, role_memberships.c.role_id == roles.c.id)
        .where(has_role, roles.c.organization_id == organization_id)
    )
    role_levels = [AccessLevel(level) for level in levels]
    if edits_all(is_admin=False, setting=setting, role_levels=role_levels):
        return FlagAccess(user_id)
    given = connection.scalars(
        select(_access.flag_id)
        .join(role_memberships, role_memberships.c.role_id == _access.role_id)
        .where(has_role, _access.project_id == project_id)
    )
    return FlagAccess(user_id, edits_all=False, given=frozenset(given))


def _is_of_flag(project_id: int, flag_id: int) -> ColumnElement[bool]:
    return (_access.project_id == project_id) & (_access.flag_id == flag_id)


def _with_roles(connection: Connection, rows: Sequence[Any]) -> list[RoleAccess]:
    roles_by_id = load_roles(connection, [row.role_id for row in rows])
    return [
        RoleAccess(row.id, roles_by_id[row.role_id], row.added_at, row.updated_at) for row in rows
    ]


def _get_access(
    connection: Connection, project_id: int, flag_id: int, access_id: int
) -> RoleAccess:
    statement = select(*_COLUMNS).where(_is_of_flag(project_id, flag_id), _access.id == access_id)
    rows = connection.execute(statement).all()
    if not rows:
        raise NotFound
    return _with_roles(connection, rows)[0]


def give_flag(connection: Connection, author: Author, flag_id: int, role_id: UUID) -> RoleAccess:
    """Allow a role to edit a flag, in the caller's transaction.

    Raises:
        NotFound: There is no such flag.
        Invalid: There is no such role.
        IntegrityError: The role may edit the flag already.
    """
    key = _lock_flag(connection, author.project_id, flag_id)
    role = connection.scalar(
        select(roles.c.id)
        .where(roles.c.id == role_id, roles.c.organization_id == author.organization_id)
        .with_for_update()
    )
    if role is None:
        raise Invalid(
            f'Invalid pk "{role_id}" - object does not exist.',
            code="does_not_exist",
            attr="role_id",
        )
    statement = insert(flag_role_access).values(
        project_id=author.project_id,
        flag_id=flag_id,
        role_id=role_id,
        added_at=author.now,
        updated_at=author.now,
    )
    access_id = connection.execute(statement.returning(_access.id)).scalar_one()
    access = _get_access(connection, author.project_id, flag_id, access_id)
    record_updated(
        connection,
        author,
        flag_id,
        key,
        [related_change("role_access", None, _recorded_role(access.role))],
    )
    return access


def _remove_access(connection: Connection, author: Author, flag_id: int, access_id: int) -> None:
    key = _lock_flag(connection, author.project_id, flag_id)
    access = _get_access(connection, author.project_id, flag_id, access_id)
    connection.execute(delete(flag_role_access).where(_access.id == access_id))
    record_updated(
        connection,
        author,
        flag_id,
        key,
        [related_change("role_access", _recorded_role(access.role), None)],
    )


def revoke_flags_of_role(connection: Connection, by: OrganizationAuthor, role_id: UUID) -> None:
    """Revoke the flags of a role that is about to be removed, and record it in their activity.

    The flags and then the role are locked first, as in `give_flag`, so that nothing recorded
    changes meanwhile.
    """
    flag_ids = select(_access.flag_id).where(_access.role_id == role_id)
    flag = feature_flags.c
    connection.execute(
        select(flag.id).where(flag.id.in_(flag_ids)).order_by(flag.id).with_for_update()
    )
    lock_roles(connection, [role_id])
    rows = connection.execute(
        select(_access.project_id, _access.flag_id, _access.id)
        .where(_access.role_id == role_id)
        .order_by(_access.flag_id)
    ).all()
    known = load_projects(connection, list({row.project_id for row in rows})) if rows else {}
    for row in rows:
        author = Author(
            project_id=known[row.project_id].id,
            organization_id=known[row.project_id].organization_id,
            user_id=by.user_id,
            now=by.now,
        )
        _remove_access(connection, author, row.flag_id, row.id)


def _lock_flag(connection: Connection, project_id: int, flag_id: int) -> str:
    """Lock a flag and return its key.

    Raises:
        NotFound: There is no such flag.
    """
    flag = feature_flags.c
    key: str | None = connection.scalar(
        select(flag.key).where(flag.project_id == project_id, flag.id == flag_id).with_for_update()
    )
    if key is None:
        raise NotFound
    return key


def _recorded_role(role: Role) -> Mapping[str, Any]:
    return {"id": str(role.id), "name": role.name}
