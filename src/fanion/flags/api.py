"""Feature flags over HTTP, for those who manage them.

source: api.md, "Feature flags"; flags.md sections 11 to 13
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, Response, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from fanion.errors import Invalid, NotFound
from fanion.flags.definition import FlagRow
from fanion.flags.rules import KEY_CHARS_MAX, check_filters, is_simple, normal_tags, require_cohorts
from fanion.flags.snapshot import FlagSets
from fanion.flags.store import FlagStore, StoredFlag
from fanion.projects.model import UserSummary
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.ids import ObjectId
from fanion.rest.page import Paged

FlagKey = Annotated[str, Meta(min_length=1, max_length=KEY_CHARS_MAX)]
Filters = Annotated[
    dict[str, Any], Meta(description="Release conditions, variants and payloads, kept as sent.")
]


class NewFlag(Struct, kw_only=True):
    key: FlagKey
    name: str = ""
    filters: Filters | None = None
    deleted: bool = False
    active: bool | UnsetType = UNSET
    created_at: datetime | UnsetType = UNSET
    ensure_experience_continuity: bool | None = False
    rollback_conditions: Any = None
    performed_rollback: bool | None = None
    tags: list[str] | None = None
    analytics_dashboards: list[int] | None = None
    has_enriched_analytics: bool = False


class FlagChanges(Struct, kw_only=True, omit_defaults=True):
    key: FlagKey | UnsetType = UNSET
    name: str | UnsetType = UNSET
    filters: Filters | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET
    active: bool | UnsetType = UNSET
    created_at: datetime | UnsetType = UNSET
    ensure_experience_continuity: bool | UnsetType | None = UNSET
    rollback_conditions: Any = UNSET
    performed_rollback: bool | UnsetType | None = UNSET
    tags: list[str] | UnsetType | None = UNSET
    analytics_dashboards: list[int] | UnsetType | None = UNSET
    has_enriched_analytics: bool | UnsetType = UNSET


class FlagBody(Struct, kw_only=True):
    id: int
    name: Annotated[str, Meta(description="The flag's description.")]
    key: str
    filters: Filters
    deleted: bool
    active: bool
    created_by: UserSummary | None
    created_at: datetime
    is_simple_flag: bool
    rollout_percentage: float | None
    ensure_experience_continuity: bool | None
    experiment_set: list[int]
    surveys: list[Any]
    features: list[Any]
    rollback_conditions: Any
    performed_rollback: bool | None
    can_edit: bool
    tags: list[str]
    usage_dashboard: int | None
    analytics_dashboards: list[int]
    has_enriched_analytics: bool


@dataclass(frozen=True, slots=True)
class Flags:
    """The stored flags, and the compiled ones that must learn of each change."""

    store: FlagStore
    flag_sets: FlagSets

    async def get(self, project_id: int, flag_id: int) -> StoredFlag:
        """raises: NotFound"""
        flag = await self.store.get(project_id, flag_id)
        if flag is None:
            raise NotFound
        return flag

    async def create(self, project_id: int, values: Mapping[str, Any]) -> StoredFlag:
        flag = await self.store.create(project_id, values)
        self.flag_sets.changed(project_id)
        return flag

    async def change(self, project_id: int, flag_id: int, values: Mapping[str, Any]) -> StoredFlag:
        """raises: NotFound"""
        flag = await self.store.change(project_id, flag_id, values)
        self.flag_sets.changed(project_id)
        if flag is None:
            raise NotFound
        return flag


class FlagsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="List feature flags")
    async def flags(
        self, request: ManagementRequest, flags: NamedDependency[Flags]
    ) -> Paged[FlagBody]:
        """The newest first; deleted ones are neither listed nor counted."""
        page = request.page
        found, count = await flags.store.page(request.project.id, page.limit, page.offset)
        return page.of([shown(flag) for flag in found], count)

    @post("/", summary="Create a feature flag")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewFlag],
        flags: NamedDependency[Flags],
    ) -> FlagBody:
        """The next evaluation sees it."""
        values = _created(data, request.app.state.now())
        values["created_by_id"] = request.principal.user.id
        return shown(await flags.create(request.project.id, values))

    @get("/{flag_id:str}", summary="Retrieve a feature flag")
    async def flag(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[Flags],
    ) -> FlagBody:
        """Deleted ones too."""
        return shown(await flags.get(request.project.id, flag_id))

    @patch("/{flag_id:str}", summary="Update a feature flag")
    async def change(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[FlagChanges],
        flags: NamedDependency[Flags],
    ) -> FlagBody:
        """`filters` are replaced as a whole. `deleted: true` deletes, `false` restores."""
        flag = await flags.get(request.project.id, flag_id)
        return shown(await flags.change(request.project.id, flag_id, _changed(data, flag)))

    @delete("/{flag_id:str}", status_code=405, summary="Refused: set `deleted` instead")
    async def remove(self, flag_id: FromPath[ObjectId]) -> Response[bytes]:
        return Response(b"", status_code=405, headers={"allow": "GET, PATCH"})


def shown(flag: StoredFlag) -> FlagBody:
    row = flag.definition
    filters = _shown_filters(row)
    simple = is_simple(filters["groups"], filters)
    creator = flag.created_by
    return FlagBody(
        id=row.id,
        name=row.name,
        key=row.key,
        filters=filters,
        deleted=row.deleted,
        active=row.active,
        created_by=creator,
        created_at=flag.created_at,
        is_simple_flag=simple,
        rollout_percentage=filters["groups"][0].get("rollout_percentage") if simple else None,
        ensure_experience_continuity=row.ensure_experience_continuity,
        experiment_set=[],
        surveys=[],
        features=[],
        rollback_conditions=flag.rollback_conditions,
        performed_rollback=flag.performed_rollback,
        can_edit=True,
        tags=flag.tags,
        usage_dashboard=flag.usage_dashboard,
        analytics_dashboards=flag.analytics_dashboards,
        has_enriched_analytics=flag.has_enriched_analytics,
    )


def _shown_filters(row: FlagRow) -> dict[str, Any]:
    """Filters without groups are shown as the one group that they mean."""
    if "groups" in row.filters:
        return dict(row.filters)
    rest = {name: value for name, value in row.filters.items() if name != "properties"}
    only = {
        "properties": row.filters.get("properties") or [],
        "rollout_percentage": row.rollout_percentage,
    }
    return {"groups": [only], **rest}


def _created(data: NewFlag, now: datetime) -> dict[str, Any]:
    """Columns of a new flag. raises: Invalid"""
    filters = data.filters or {}
    if filters:
        _check(filters, creating=True)
    return {
        "key": data.key,
        "name": data.name,
        "filters": filters,
        "deleted": data.deleted,
        "active": data.active is not False,
        "created_at": now if data.created_at is UNSET else data.created_at,
        "ensure_experience_continuity": data.ensure_experience_continuity,
        "rollback_conditions": data.rollback_conditions,
        "performed_rollback": False if data.active is True else data.performed_rollback,
        "tags": normal_tags(data.tags or []),
        "analytics_dashboards": _dashboards(data.analytics_dashboards or [], []),
        "has_enriched_analytics": data.has_enriched_analytics,
        "version": 1,
    }


def _changed(data: FlagChanges, flag: StoredFlag) -> dict[str, Any]:
    """Columns to set. raises: Invalid"""
    values = {name: v for name, v in structs.asdict(data).items() if v is not UNSET}
    filters = values.pop("filters", None)
    if filters is not None and "groups" in filters:
        _check(filters, creating=False)
        values["filters"] = filters
    tags, dashboards = values.pop("tags", None), values.pop("analytics_dashboards", None)
    if tags is not None:
        values["tags"] = normal_tags(tags)
    if dashboards is not None:
        values["analytics_dashboards"] = _dashboards(dashboards, flag.analytics_dashboards)
    if values.get("active") is True:
        values["performed_rollback"] = False
    return values


def _check(filters: dict[str, Any], *, creating: bool) -> None:
    if "groups" not in filters:
        raise Invalid("Filters are not valid (groups are missing)", attr="filters")
    check_filters(filters, creating=creating)
    require_cohorts(filters, lambda _: False)


def _dashboards(wanted: list[int], known: list[int]) -> list[int]:
    """Dashboards are added, never removed, each once. raises: Invalid for one that is not there"""
    for dashboard in wanted:
        if dashboard not in known:
            raise Invalid(
                f'Invalid pk "{dashboard}" - object does not exist.',
                code="does_not_exist",
                attr="analytics_dashboards",
            )
    return known
