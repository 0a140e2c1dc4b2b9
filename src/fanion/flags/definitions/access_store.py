"""The access of a user to flags, by level, setting and roles, and the flags that use a cohort.

Source: flags.md section 16.
"""

from uuid import UUID

from sqlalchemy import Connection, Text, cast, select

from fanion.activity.model import Author
from fanion.cohorts.criteria.definition import dependent_ids
from fanion.cohorts.store import live_criteria
from fanion.db.engine import Records
from fanion.db.schema.organizations import flag_role_access, role_memberships, roles
from fanion.db.schema.tables import feature_flags, memberships, users
from fanion.errors import PermissionDenied
from fanion.flags.definitions.model import FlagAccess, edits_all
from fanion.flags.definitions.store import live_flags
from fanion.flags.engine.definition import Flag, FlagRow, compile_flag
from fanion.projects.auth.model import Principal
from fanion.projects.model import Level, Project
from fanion.projects.organizations.model import AccessLevel
from fanion.projects.organizations.store import setting_of
from fanion.properties.filters import InCohort

_access, _flag = flag_role_access.c, feature_flags.c


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
