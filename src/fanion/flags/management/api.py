"""Feature flags over HTTP, for those who manage them.

source: api.md, "Feature flags"; flags.md sections 11 to 13
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec
from litestar import Controller, Response, delete, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from fanion.activity.model import Author
from fanion.errors import Invalid, NotFound
from fanion.flags.engine.definition import grouped_filters
from fanion.flags.management.permissions import FlagAccess
from fanion.flags.management.role_access_store import access_of
from fanion.flags.management.schemas import (
    VERSION_HEADER,
    Bucketing,
    Contexts,
    Filters,
    FlagBody,
    Runtime,
    StaleFlag,
    derived_of,
    shown,
)
from fanion.flags.management.stale_api import LastEvaluated, nobody_knows, stale_page
from fanion.flags.storage.activity import SCOPE
from fanion.flags.storage.changes import Decide
from fanion.flags.storage.list_query import STALE_DAYS, read_flag_query
from fanion.flags.storage.rollback import check_conditions
from fanion.flags.storage.store import FlagStore, StoredFlag
from fanion.flags.validation.filters import (
    KEY_CHARS_MAX,
    check_filters,
    check_key,
    check_names,
    with_enrollment_of,
)
from fanion.flags.validation.posthog_fields import OF_FLAG
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, refused
from fanion.rest.pagination import Paged
from fanion.rest.validation import normal_tags
from fanion.runtime.change_bus import ChangeBus, Topic

FlagKey = Annotated[str, Meta(min_length=1, max_length=KEY_CHARS_MAX)]
Version = Annotated[
    int,
    Meta(description="Of the flag that the change was made for; when it has moved on: 409."),
]
# Names of `_Sent`, beside those that are derived.
_UNSUPPORTED = {
    "archived": "Set active to false.",
    "has_encrypted_payloads": "Payloads are stored as they are.",
    "evaluation_tags": "Use evaluation_contexts.",
}
_VERSION = ResponseHeader(
    name=VERSION_HEADER,
    description="Of the flag; it moves with every change.",
    documentation_only=True,
)


class _Sent(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Fields of PostHog that are never written: derived ones must agree with what they are
    derived from, and the others must ask for nothing."""

    also_known: ClassVar[frozenset[str]] = OF_FLAG

    rollout_percentage: Annotated[
        float | UnsetType | None, Meta(description="Of the only condition set; see `filters`.")
    ] = UNSET
    is_simple_flag: Annotated[
        bool | UnsetType | None, Meta(description="Follows from `filters`.")
    ] = UNSET
    archived: Annotated[
        bool | UnsetType | None, Meta(description="Not supported: false or absent.")
    ] = UNSET
    has_encrypted_payloads: Annotated[
        bool | UnsetType | None, Meta(description="Not supported: false or absent.")
    ] = UNSET
    evaluation_tags: Annotated[
        list[str] | UnsetType | None,
        Meta(description="Not supported: empty or absent. Use `evaluation_contexts`."),
    ] = UNSET


class NewFlag(_Sent, kw_only=True, forbid_unknown_fields=True):
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
    bucketing_identifier: Bucketing | None = None
    evaluation_runtime: Runtime | None = None
    evaluation_contexts: Contexts | None = None


class FlagChanges(_Sent, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
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
    bucketing_identifier: Bucketing | UnsetType | None = UNSET
    evaluation_runtime: Runtime | UnsetType | None = UNSET
    evaluation_contexts: Contexts | UnsetType | None = UNSET
    version: Version | UnsetType | None = UNSET


_NEVER_WRITTEN = {"version", *_Sent.__struct_fields__}


@dataclass(frozen=True, slots=True)
class Flags:
    """The stored flags; each change is published."""

    store: FlagStore
    bus: ChangeBus
    last_evaluated: LastEvaluated = nobody_knows

    async def access(self, request: ManagementRequest) -> FlagAccess:
        return await access_of(self.store.records, request.principal, request.project)

    async def get(self, project_id: int, flag_id: int) -> StoredFlag:
        """raises: NotFound"""
        flag = await self.store.get(project_id, flag_id)
        if flag is None:
            raise NotFound
        return flag

    async def editable(self, request: ManagementRequest, flag_id: int) -> StoredFlag:
        """For what is done to a flag by POST. raises: NotFound, PermissionDenied"""
        flag = await self.get(request.project.id, flag_id)
        (await self.access(request)).require_edit(flag_id, flag.creator_id)
        return flag

    async def create(self, author: Author, values: dict[str, Any]) -> StoredFlag:
        flag = await self.store.create(author, values)
        self.bus.publish(Topic.FLAGS, author.project_id)
        return flag

    async def change(self, author: Author, flag_id: int, decide: Decide) -> StoredFlag:
        """raises: NotFound, and what `decide` does"""
        flag = await self.store.change(author, flag_id, decide)
        self.bus.publish(Topic.FLAGS, author.project_id)
        if flag is None:
            raise NotFound
        return flag


class FlagsApi(Controller):
    path = "/api/projects/{project_id:str}/feature_flags"
    tags = ("Feature flags",)
    opt = scoped("feature_flag")

    @get("/", summary="List feature flags")
    async def flags(
        self,
        request: ManagementRequest,
        flags: NamedDependency[Flags],
        search: FromQuery[str | None] = None,
        active: FromQuery[str | None] = None,
        kind: Annotated[str | None, QueryParameter(name="type")] = None,
        created_by_id: FromQuery[str | None] = None,
        tags: FromQuery[str | None] = None,
        excluded_properties: FromQuery[str | None] = None,
        evaluation_runtime: FromQuery[str | None] = None,
        order: FromQuery[str | None] = None,
        stale: FromQuery[bool] = False,
        stale_days: FromQuery[int] = STALE_DAYS,
    ) -> Paged[FlagBody]:
        """The newest first; deleted ones are neither listed nor counted.

        What is asked for must all hold. `search` is part of the key or the name. `active` is
        `true`, `false` or `STALE`: switched on, made more than 30 days ago, and the same for
        everybody. `type` is `boolean`, `multivariant` or `experiment`. `tags` is a JSON list, of
        which one is enough; `excluded_properties` a JSON list of keys to leave out.
        `evaluation_runtime` is `all`, `client` or `server`. `order` is `key`, `name`, `active`,
        `created_at` or `id`, with `-` for descending.

        `stale=true` lists, of these, the flags that are switched on, older than `stale_days` and
        no longer needed, each with its `stale_reason`: `fully_rolled_out`, or `not_evaluated` for
        as many days.
        """
        query = read_flag_query(
            search=search,
            active=active,
            kind=kind,
            created_by_id=created_by_id,
            tags=tags,
            excluded=excluded_properties,
            runtime=evaluation_runtime,
            order=order,
        )
        access = await flags.access(request)
        if stale:
            return await stale_page(
                request, flags.store, access, flags.last_evaluated, query, stale_days
            )
        page, now = request.page, request.app.state.now()
        found, count = await flags.store.find(
            request.project.id, query, now, page.limit, page.offset
        )
        return page.of([shown(flag, access) for flag in found], count)

    @post("/", summary="Create a feature flag", response_headers=[_VERSION])
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewFlag],
        flags: NamedDependency[Flags],
    ) -> Response[FlagBody]:
        """The next evaluation sees it."""
        author = request.author
        flag = await flags.create(author, _created(data, author.now))
        # Whoever made a flag may edit it.
        return _answer(flag, FlagAccess(request.principal.user.id))

    @get("/{flag_id:str}", summary="Retrieve a feature flag", response_headers=[_VERSION])
    async def flag(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[Flags],
    ) -> Response[FlagBody]:
        """Deleted ones too."""
        flag = await flags.get(request.project.id, flag_id)
        return _answer(flag, await flags.access(request))

    @patch("/{flag_id:str}", summary="Update a feature flag", response_headers=[_VERSION])
    async def change(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        data: RequestBody[FlagChanges],
        flags: NamedDependency[Flags],
    ) -> Response[FlagBody]:
        """`filters` are replaced as a whole. `deleted: true` deletes, `false` restores.

        With `version`, as the header `X-Flag-Version` told it, the change is made only if nobody
        else has changed the flag since; otherwise the answer is 409, with the flag as `current`.
        """
        access = await flags.access(request)

        def decide(flag: StoredFlag) -> dict[str, Any]:
            access.require_edit(flag_id, flag.creator_id)
            if data.version not in {UNSET, None, flag.definition.version}:
                raise StaleFlag(shown(flag, access), flag.definition.version)
            return _changed(data, flag)

        return _answer(await flags.change(request.author, flag_id, decide), access)

    @get("/activity", summary="Who changed the flags of a project", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, flags: NamedDependency[Flags]
    ) -> ActivityPage:
        """Newest first, `page` from 1, `limit` 10 unless given."""
        return await activity_page(request, flags.store.records, SCOPE)

    @get("/{flag_id:str}/activity", summary="Who changed a feature flag", scope="activity_log:read")
    async def activity(
        self,
        request: ManagementRequest,
        flag_id: FromPath[ObjectId],
        flags: NamedDependency[Flags],
    ) -> ActivityPage:
        """Newest first, `page` from 1, `limit` 10 unless given."""
        await flags.get(request.project.id, flag_id)
        return await activity_page(request, flags.store.records, SCOPE, str(flag_id))

    @delete("/{flag_id:str}", status_code=405, summary="Refused: set `deleted` instead")
    async def remove(self, flag_id: FromPath[ObjectId]) -> ASGIResponse:
        return refused("GET, PATCH")


def _answer(flag: StoredFlag, access: FlagAccess) -> Response[FlagBody]:
    version = {VERSION_HEADER: str(flag.definition.version)}
    return Response(shown(flag, access), headers=version)


def _created(data: NewFlag, now: datetime) -> dict[str, Any]:
    """Columns of a new flag. raises: Invalid"""
    check_key(data.key)
    filters = data.filters or {}
    if filters:
        _check(filters, creating=True, stored=None)
    check_conditions(data.rollback_conditions, None)
    _require_agreement(data, filters, None)
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
        "bucketing_identifier": data.bucketing_identifier,
        "evaluation_runtime": data.evaluation_runtime,
        "evaluation_contexts": normal_tags(data.evaluation_contexts or []) or None,
    }


def _changed(data: FlagChanges, flag: StoredFlag) -> dict[str, Any]:
    """Columns to set. raises: Invalid"""
    values = {
        name: value
        for name, value in structs.asdict(data).items()
        if value is not UNSET and name not in _NEVER_WRITTEN
    }
    filters = values.pop("filters", None)
    stored = grouped_filters(flag.definition)
    if filters is not None and "groups" in filters:
        _check(filters, creating=False, stored=stored)
        values["filters"] = filters
    elif filters is not None:
        check_names(filters, stored)
    if "rollback_conditions" in values:
        check_conditions(values["rollback_conditions"], flag.rollback_conditions)
    _require_agreement(data, values.get("filters", stored), stored)
    key = values.get("key", flag.definition.key)
    if key != flag.definition.key:
        check_key(key)
        values |= _renamed(flag.definition.key, key, values.get("filters", flag.definition.filters))
    tags, dashboards = values.pop("tags", None), values.pop("analytics_dashboards", None)
    if tags is not None:
        values["tags"] = normal_tags(tags)
    if dashboards is not None:
        values["analytics_dashboards"] = _dashboards(dashboards, flag.analytics_dashboards)
    if "evaluation_contexts" in values:
        values["evaluation_contexts"] = normal_tags(values["evaluation_contexts"] or []) or None
    if values.get("active") is True:
        values["performed_rollback"] = False
    return values


def _renamed(former: str, key: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Columns to set beside the key: who enrolled early is asked for under the new one."""
    renamed = with_enrollment_of(former, key, filters)
    return {} if renamed == filters else {"filters": renamed}


def _check(filters: dict[str, Any], *, creating: bool, stored: Mapping[str, Any] | None) -> None:
    if "groups" not in filters:
        check_names(filters)
        raise Invalid("Filters are not valid (groups are missing)", attr="filters")
    check_filters(filters, creating=creating, stored=stored)


def _require_agreement(
    data: _Sent, filters: Mapping[str, Any], stored: Mapping[str, Any] | None
) -> None:
    """What was read from the flag as it was may be sent back with other filters.

    filters: of the flag after the change; stored: before it
    """
    for name, after in derived_of(filters).items():
        sent = getattr(data, name)
        before = derived_of(stored)[name] if stored is not None else after
        if sent is not UNSET and sent not in (after, before):
            raise Invalid(
                f"{name} follows from filters, where it is {_json(after)}, not {_json(sent)}. Set "
                "it in filters.",
                attr=name,
            )
    for name, instead in _UNSUPPORTED.items():
        if getattr(data, name) not in (UNSET, None, False, []):
            raise Invalid(f'"{name}" is not supported. {instead}', attr=name)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _dashboards(wanted: list[int], known: list[int]) -> list[int]:
    """Dashboards are added, never removed, each once."""
    return list(dict.fromkeys([*known, *wanted]))
