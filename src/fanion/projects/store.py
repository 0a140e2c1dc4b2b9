"""Projects in the records store, and the version of their flags."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from uuid import UUID, uuid4

from msgspec import convert, to_builtins
from sqlalchemy import (
    BindParameter,
    Connection,
    Dialect,
    Executable,
    bindparam,
    delete,
    func,
    insert,
    select,
    union_all,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from fanion.activity.model import ActivityRecord, Author, Change, changed_fields
from fanion.activity.store import record_activity
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.insights import dashboards
from fanion.db.schema.tables import (
    flag_versions,
    former_project_tokens,
    organizations,
    projects,
)
from fanion.errors import Invalid
from fanion.projects.account_filters_store import require_cohorts
from fanion.projects.auth.keys import KEY_BYTES, mask, project_token
from fanion.projects.model import (
    DEFAULT_INGESTION,
    FORMER_KEYS_MAX,
    SUNDAY,
    FormerToken,
    IngestionSettings,
    Organization,
    Project,
)

_LOGGED = (
    *("name", "timezone", "api_token", "ingestion", "test_account_filters"),
    *("week_start_day", "path_cleaning_filters", "primary_dashboard"),
    "events_kept_days",
)
_former = former_project_tokens.c
# One row for each former token of a project; one row for a project without any.
_PROJECTS = select(
    projects.c.id,
    projects.c.uuid,
    projects.c.organization_id,
    projects.c.name,
    projects.c.api_token,
    projects.c.timezone,
    projects.c.created_at,
    projects.c.ingestion,
    projects.c.test_account_filters,
    projects.c.week_start_day,
    projects.c.path_cleaning_filters,
    projects.c.primary_dashboard,
    projects.c.events_kept_days,
    _former.token.label("former_token"),
    _former.valid_until.label("former_valid_until"),
).select_from(projects.outerjoin(former_project_tokens, _former.project_id == projects.c.id))
_TOKENS: BindParameter[Any] = bindparam("tokens", expanding=True)
# A union, so that each part uses its index.
_OWNERS = union_all(
    select(projects.c.id).where(projects.c.api_token.in_(_TOKENS)),
    select(_former.project_id).where(_former.token.in_(_TOKENS)),
)
_BY_TOKENS = _PROJECTS.where(projects.c.id.in_(_OWNERS))
_BY_IDS = _PROJECTS.where(projects.c.id.in_(bindparam("ids", expanding=True)))
_OF_ORGANIZATIONS = projects.c.organization_id.in_(bindparam("organizations", expanding=True))
_PAGE = (
    select(projects.c.id)
    .where(_OF_ORGANIZATIONS)
    .order_by(projects.c.id)
    .limit(bindparam("rows"))
    .offset(bindparam("start"))
)
_COUNT = select(func.count()).select_from(projects).where(_OF_ORGANIZATIONS)
_organization = organizations.c
_ORGANIZATION = select(
    _organization.id,
    _organization.name,
    _organization.enforce_2fa,
    _organization.activity_kept_days,
).where(_organization.id == bindparam("organization"))


class ProjectStore:
    """The projects. The activity log of a project records each change."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def by_tokens(self, tokens: Sequence[str]) -> Mapping[str, Project]:
        """Return projects by their current and former tokens, expired ones included."""
        by_token: dict[str, Project] = {}
        rows = await self._records.fetch(_BY_TOKENS, {"tokens": tokens})
        for project in _projects_of_rows(rows).values():
            by_token[project.api_token] = project
            by_token |= dict.fromkeys(
                (former_token.token for former_token in project.former_tokens), project
            )
        return {token: by_token[token] for token in tokens if token in by_token}

    async def by_ids(self, ids: Sequence[int]) -> Mapping[int, Project]:
        return _projects_of_rows(await self._records.fetch(_BY_IDS, {"ids": ids}))

    async def page(
        self, organization_ids: Collection[UUID], limit: int, offset: int
    ) -> tuple[list[Project], int]:
        """Return one page of the projects, oldest first, and the number of all."""
        parameters = {"organizations": list(organization_ids)}
        [(count,)] = await self._records.fetch(_COUNT, parameters)
        rows = await self._records.fetch(_PAGE, {**parameters, "rows": limit, "start": offset})
        ids = [row.id for row in rows]
        projects_by_id = await self.by_ids(ids) if ids else {}
        return [
            projects_by_id[project_id] for project_id in ids if project_id in projects_by_id
        ], count

    async def organization(self, organization_id: UUID) -> Organization | None:
        rows = await self._records.fetch(_ORGANIZATION, {"organization": organization_id})
        if not rows:
            return None
        [row] = rows
        return Organization(row.id, row.name, bool(row.enforce_2fa), row.activity_kept_days)

    async def create_project(
        self,
        organization_id: UUID,
        name: str,
        timezone: str,
        now: datetime,
        user_id: int | None = None,
    ) -> Project:
        """Create a project.

        Args:
            user_id: The user who creates it; None for the operator.
        """
        async with self._records.write() as connection:
            project = await add_project(connection, organization_id, name, timezone, now, None)
            await connection.run_sync(_record_change, None, project, user_id, now)
            return project

    async def change_project(
        self,
        project_id: int,
        changes: Mapping[str, Any],
        now: datetime,
        user_id: int | None = None,
    ) -> Project | None:
        """Change a project, or return None if it does not exist.

        Args:
            changes: New values of `name`, `timezone`, `test_account_filters`, `week_start_day`,
                `path_cleaning_filters`, `primary_dashboard` and `events_kept_days`; `ingestion` has
                only the settings that change.
            user_id: The user who makes the change; None for the operator.

        Raises:
            Invalid: The filters name a cohort that does not exist, or there is no such dashboard.
        """
        changes = dict(changes)
        ingestion = changes.pop("ingestion", None)
        async with self._records.write() as connection:
            before = await connection.run_sync(_lock_project, project_id)
            if before is None:
                return None
            if ingestion:
                changes["ingestion"] = _ingestion_values(before.ingestion, ingestion)
            if filters := changes.get("test_account_filters"):
                await connection.run_sync(require_cohorts, before, filters)
            if (home := changes.get("primary_dashboard")) not in (None, before.primary_dashboard):
                await connection.run_sync(_require_dashboard, project_id, home)
            if changes:
                await connection.execute(
                    update(projects).where(projects.c.id == project_id).values(**changes)
                )
            after = (await connection.run_sync(load_projects, [project_id]))[project_id]
            await connection.run_sync(_record_change, before, after, user_id, now)
            return after

    async def reset_token(
        self, project_id: int, former_valid_s: int, now: datetime, user_id: int | None = None
    ) -> Project | None:
        """Give a project another token, or return None if the project does not exist.

        Args:
            former_valid_s: How long the current token stays valid. With 0, it and all former ones
                expire at once.
            user_id: The user who makes the change; None for the operator.

        Raises:
            Invalid: FORMER_KEYS_MAX former tokens are still valid.
        """
        async with self._records.write() as connection:
            before = await connection.run_sync(_lock_project, project_id)
            if before is None:
                return None
            await connection.run_sync(_retire_token, before, former_valid_s, now)
            token = project_token(secrets.token_bytes(KEY_BYTES))
            await connection.execute(
                update(projects).where(projects.c.id == project_id).values(api_token=token)
            )
            after = (await connection.run_sync(load_projects, [project_id]))[project_id]
            await connection.run_sync(_record_change, before, after, user_id, now)
            return after


def _require_dashboard(connection: Connection, project_id: int, dashboard_id: int) -> None:
    """Raise Invalid unless the project has the dashboard."""
    is_present = select(dashboards.c.id).where(
        dashboards.c.project_id == project_id,
        dashboards.c.id == dashboard_id,
        dashboards.c.deleted.is_(False),
    )
    if connection.scalar(is_present) is None:
        raise Invalid(
            f'Invalid pk "{dashboard_id}" - object does not exist.',
            code="does_not_exist",
            attr="primary_dashboard",
        )


def load_projects(connection: Connection, ids: Sequence[int]) -> Mapping[int, Project]:
    return _projects_of_rows(connection.execute(_BY_IDS, {"ids": list(ids)}))


def _record_change(
    connection: Connection,
    before: Project | None,
    after: Project,
    user_id: int | None,
    now: datetime,
) -> None:
    """Record a change of a project in its activity log.

    Args:
        before: None for a new project.
    """
    differing = None
    if before is not None:
        differing = changed_fields(
            "Project", _logged_values(before), _logged_values(after), _LOGGED
        )
    record_project_change(connection, after, differing, user_id, now)


def set_account_filters(
    connection: Connection,
    project_id: int,
    conditions: Sequence[Mapping[str, Any]],
    user_id: int | None,
    now: datetime,
) -> None:
    """Set the conditions that leave out test accounts.

    Args:
        conditions: Valid conditions.
        user_id: The user who makes the change; None for the operator.
    """
    before = load_projects(connection, [project_id])[project_id]
    statement = update(projects).where(projects.c.id == project_id)
    connection.execute(statement.values(test_account_filters=conditions))
    after = replace(before, test_account_filters=tuple(conditions))
    _record_change(connection, before, after, user_id, now)


def record_project_change(
    connection: Connection,
    project: Project,
    differing: Sequence[Change] | None,
    user_id: int | None,
    now: datetime,
) -> None:
    """Record a change of a project in its activity log.

    Args:
        differing: The changed fields; None for a new project.
    """
    entry = ActivityRecord(
        author=Author(
            project_id=project.id,
            organization_id=project.organization_id,
            user_id=user_id,
            now=now,
        ),
        scope="Project",
        item_id=str(project.id),
        activity="created" if differing is None else "updated",
        name=project.name,
        changes=differing,
    )
    record_activity(connection, entry)


def _logged_values(project: Project) -> dict[str, Any]:
    """Return the values for the activity log: the token masked, no default settings."""
    return {
        "name": project.name,
        "timezone": project.timezone,
        "api_token": mask(project.api_token),
        "ingestion": to_builtins(project.ingestion),
        "test_account_filters": list(project.test_account_filters),
        "week_start_day": project.week_start_day,
        "path_cleaning_filters": list(project.path_cleaning_filters),
        "primary_dashboard": project.primary_dashboard,
        "events_kept_days": project.events_kept_days,
    }


def _lock_project(connection: Connection, project_id: int) -> Project | None:
    """Return the project and lock it until the transaction ends, or None if it does not exist."""
    is_project = projects.c.id == project_id
    if connection.scalar(select(projects.c.id).where(is_project).with_for_update()) is None:
        return None
    return load_projects(connection, [project_id])[project_id]


def _retire_token(connection: Connection, project: Project, valid_s: int, now: datetime) -> None:
    """Make the current token a former one, or expire it and all former ones at once.

    Args:
        valid_s: How long the current token stays valid; 0 for no time.
    """
    of_project = _former.project_id == project.id
    ended = of_project & (_former.valid_until <= now) if valid_s else of_project
    connection.execute(delete(former_project_tokens).where(ended))
    if not valid_s:
        return
    if len(project.tokens(now)) > FORMER_KEYS_MAX:
        raise too_many_former()
    connection.execute(
        insert(former_project_tokens).values(
            token=project.api_token,
            project_id=project.id,
            valid_until=now + timedelta(seconds=valid_s),
        )
    )


def too_many_former() -> Invalid:
    return Invalid(
        f"{FORMER_KEYS_MAX} former keys are still valid. Wait until one expires, or end all of "
        "them with 0.",
        attr="former_valid_s",
    )


def _ingestion_values(known: IngestionSettings, new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings after the change that differ from the defaults."""
    settings = convert({**to_builtins(known), **new}, IngestionSettings)
    differing: dict[str, Any] = to_builtins(settings)
    return differing


async def add_project(
    connection: AsyncConnection,
    organization_id: UUID,
    name: str,
    timezone: str,
    now: datetime,
    token: str | None,
) -> Project:
    values: dict[str, Any] = {
        "uuid": uuid4(),
        "organization_id": organization_id,
        "name": name,
        "api_token": token or project_token(secrets.token_bytes(KEY_BYTES)),
        "timezone": timezone,
        "created_at": now,
    }
    added = await connection.execute(insert(projects).values(**values).returning(projects.c.id))
    return Project(id=added.scalar_one(), **values)


def _projects_of_rows(rows: Iterable[Any]) -> dict[int, Project]:
    """Build projects from rows, in the order of the rows."""
    values_by_id: dict[int, dict[str, Any]] = {}
    former: dict[int, list[FormerToken]] = {}
    for row in rows:
        values = row._asdict()
        token, until = values.pop("former_token"), values.pop("former_valid_until")
        values_by_id[row.id] = values | {
            "ingestion": read_ingestion(values["ingestion"]),
            "test_account_filters": tuple(values["test_account_filters"] or ()),
            "week_start_day": values["week_start_day"] or SUNDAY,
            "path_cleaning_filters": tuple(values["path_cleaning_filters"] or ()),
        }
        tokens = former.setdefault(row.id, [])
        if token is not None:
            tokens.append(FormerToken(token, until))
    return {
        project_id: Project(
            **values,
            former_tokens=tuple(
                sorted(former[project_id], key=lambda former_token: former_token.valid_until)
            ),
        )
        for project_id, values in values_by_id.items()
    }


def read_ingestion(stored: Any) -> IngestionSettings:
    """Parse stored settings.

    Args:
        stored: The settings that differ from the defaults, as JSON; None for none.
    """
    return DEFAULT_INGESTION if not stored else convert(stored, IngestionSettings)


def move_flag_version(connection: Connection, project_id: int) -> None:
    """Increment the version of a project's flags, which the change feed sends to every server.

    This is done in the transaction of a change of flags, cohorts or group types.
    """
    connection.execute(
        _move_statement(connection.dialect), {"project_id": project_id, "version": 1}
    )


@lru_cache(maxsize=2)
def _move_statement(dialect: Dialect) -> Executable:
    return upsert(dialect, flag_versions).on_conflict_do_update(
        index_elements=["project_id"], set_={"version": flag_versions.c.version + 1}
    )
