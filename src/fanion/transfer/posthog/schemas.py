"""Schemas of the API of another server, and their conversion into stored definitions.

Fields that are absent or of another type count as not set: versions of servers differ.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args

import msgspec
from msgspec import Struct, structs

from fanion.actions.model import ActionStep, Matching
from fanion.events.definitions.details import DESCRIPTION_CHARS_MAX as DETAILS_CHARS_MAX
from fanion.events.definitions.properties import PropertyType
from fanion.flags.definitions.model import PlainFlag
from fanion.flags.engine.definition import BucketingIdentifier, EvaluationRuntime
from fanion.groups.model import GROUP_TYPES_MAX
from fanion.projects.organizations.model import AccessLevel
from fanion.rest.validation import normal_tags
from fanion.transfer.document import EventDefinitionEntry, PropertyDefinitionEntry, RoleEntry
from fanion.transfer.report import Report
from fanion.transfer.snapshot import (
    SnapshotAction,
    SnapshotCohort,
    SnapshotDashboard,
    SnapshotFlag,
    SnapshotInsight,
    SnapshotTile,
)

B = TypeVar("B", bound=Struct)


class PosthogFlag(Struct):
    id: int
    key: str
    created_at: datetime
    name: str | None = None
    filters: dict[str, Any] | None = None
    active: bool = True
    deleted: bool = False
    ensure_experience_continuity: bool | None = False
    rollback_conditions: Any = None
    performed_rollback: bool | None = None
    tags: list[str] | None = None
    usage_dashboard: int | None = None
    analytics_dashboards: list[int] | None = None
    has_enriched_analytics: bool | None = None
    bucketing_identifier: str | None = None
    evaluation_runtime: str | None = None
    evaluation_contexts: list[str] | None = None


_SHARED_OF_FLAG = set(PosthogFlag.__struct_fields__).intersection(PlainFlag.__struct_fields__)


class PosthogCohort(Struct):
    id: int
    name: str | None = None
    description: str | None = None
    filters: dict[str, Any] | None = None
    groups: list[Any] | dict[str, Any] | None = None
    is_static: bool = False
    deleted: bool = False


class PosthogOwner(Struct):
    email: str | None = None


class PosthogEventDefinition(Struct):
    name: str
    tags: list[str] | None = None
    post_to_chat: bool | None = None
    post_to_slack: bool | None = None
    description: str | None = None
    owner: PosthogOwner | None = None
    hidden: bool | None = None
    verified: bool | None = None
    created_at: datetime | None = None
    last_seen_at: datetime | None = None


class PosthogPropertyDefinition(Struct):
    name: str
    property_type: str | None = None
    event_names: list[str] | None = None
    description: str | None = None
    owner: PosthogOwner | None = None
    tags: list[str] | None = None
    hidden: bool | None = None
    verified: bool | None = None


class PosthogGroupType(Struct):
    group_type: str
    group_type_index: int


class PosthogStep(Struct):
    event: str | None = None
    properties: list[Any] | None = None
    url: str | None = None
    url_matching: Matching | None = None
    text: str | None = None
    text_matching: Matching | None = None
    href: str | None = None
    href_matching: Matching | None = None
    selector: str | None = None
    tag_name: str | None = None


class PosthogAction(Struct):
    id: int
    name: str
    description: str | None = None
    tags: list[str] | None = None
    steps: list[PosthogStep] | None = None
    deleted: bool = False


def stored_action(action: PosthogAction) -> SnapshotAction:
    return SnapshotAction(
        id=action.id,
        name=action.name,
        description=action.description or "",
        tags=normal_tags(action.tags or []),
        steps=[ActionStep(**structs.asdict(step)) for step in action.steps or []],
    )


class PosthogInsight(Struct):
    """An insight.

    Attributes:
        query: Newer versions of PostHog have it instead of filters.
    """

    id: int
    short_id: str
    name: str | None = None
    derived_name: str | None = None
    description: str | None = None
    filters: dict[str, Any] | None = None
    query: dict[str, Any] | None = None
    tags: list[str] | None = None
    favorited: bool | None = None
    saved: bool | None = None
    deleted: bool | None = None


class TiledInsight(Struct):
    id: int


class PosthogText(Struct):
    body: str | None = None


class PosthogTile(Struct):
    insight: TiledInsight | None = None
    text: PosthogText | None = None
    color: str | None = None
    layouts: dict[str, Any] | None = None

    @property
    def text_body(self) -> str | None:
        """Return the text, None for a tile with something else and for an empty text."""
        return None if self.text is None else (self.text.body or "").strip() or None

    @property
    def is_supported(self) -> bool:
        return self.insight is not None or self.text_body is not None


class PosthogDashboard(Struct):
    id: int
    name: str | None = None
    description: str | None = None
    pinned: bool | None = None
    filters: dict[str, Any] | None = None
    tags: list[str] | None = None
    restriction_level: int | None = None
    tiles: list[PosthogTile] | None = None
    deleted: bool | None = None


class RoleUser(Struct):
    email: str


class PosthogRoleMember(Struct):
    user: RoleUser


class PosthogRole(Struct):
    id: str
    name: str
    feature_flags_access_level: int = AccessLevel.EDIT
    members: list[PosthogRoleMember] | None = None


class AccessRole(Struct):
    name: str


class PosthogAccess(Struct):
    role: AccessRole


class PosthogMember(Struct):
    distinct_ids: list[str]


def read_each(kind: type[B], word: str, raw: Iterable[object], report: Report) -> list[B]:
    """Return the rows that fit the schema, and report the others as skipped.

    A row that occurs twice, because the list changed between two pages, counts once.
    """
    bodies: dict[object, B] = {}
    for index, row in enumerate(raw):
        try:
            body = msgspec.convert(row, kind)
        except msgspec.ValidationError as error:
            report.skipped(
                word, _label(row, index), f"the source returns it in an unknown format: {error}"
            )
            continue
        bodies[getattr(body, "id", None) or getattr(body, "name", index)] = body
    return list(bodies.values())


def stored_flag(body: PosthogFlag, roles: Iterable[str] = ()) -> SnapshotFlag:
    values = {
        "name": body.name or "",
        "filters": body.filters or {},
        "tags": body.tags or [],
        "has_enriched_analytics": bool(body.has_enriched_analytics),
        "bucketing_identifier": _choice(body.bucketing_identifier, BucketingIdentifier),
        "evaluation_runtime": _choice(body.evaluation_runtime, EvaluationRuntime),
        "evaluation_contexts": normal_tags(body.evaluation_contexts or []) or None,
    }
    return SnapshotFlag(
        **({name: getattr(body, name) for name in _SHARED_OF_FLAG} | values),
        id=body.id,
        analytics_dashboards=body.analytics_dashboards or [],
        created_at=as_utc(body.created_at),
        roles=sorted(roles),
    )


def stored_cohort(body: PosthogCohort) -> SnapshotCohort:
    return SnapshotCohort(
        id=body.id,
        name=body.name,
        description=body.description or "",
        filters=body.filters or None,
        groups=body.groups if isinstance(body.groups, list) else [],
        is_static=body.is_static,
        deleted=body.deleted,
    )


def event_definition(body: PosthogEventDefinition) -> EventDefinitionEntry:
    return EventDefinitionEntry(
        name=body.name,
        tags=body.tags or [],
        post_to_chat=bool(body.post_to_chat or body.post_to_slack),
        description=_details_text(body.description),
        owner=None if body.owner is None else body.owner.email,
        hidden=body.hidden,
        verified=body.verified and not body.hidden,
        created_at=body.created_at and as_utc(body.created_at),
        last_seen_at=body.last_seen_at and as_utc(body.last_seen_at),
    )


def property_definition(body: PosthogPropertyDefinition) -> PropertyDefinitionEntry:
    """Convert a property definition; an unknown type counts as none."""
    kinds = {kind.value: kind for kind in PropertyType}
    return PropertyDefinitionEntry(
        name=body.name,
        property_type=kinds.get(body.property_type or ""),
        event_names=sorted(body.event_names or []),
        description=_details_text(body.description),
        owner=None if body.owner is None else body.owner.email,
        tags=body.tags,
        hidden=body.hidden,
        verified=body.verified and not body.hidden,
    )


def _details_text(description: str | None) -> str | None:
    return description and description.strip()[:DETAILS_CHARS_MAX]


def group_types(bodies: Iterable[PosthogGroupType]) -> Mapping[str, int]:
    return {
        body.group_type: body.group_type_index
        for body in bodies
        if 0 <= body.group_type_index < GROUP_TYPES_MAX
    }


def stored_insight(body: PosthogInsight) -> SnapshotInsight:
    return SnapshotInsight(
        id=body.id,
        short_id=body.short_id,
        name=body.name,
        derived_name=body.derived_name,
        description=body.description or "",
        filters=_without_sampling(body.filters or {}),
        query=None if body.filters else _without_sampling(body.query or {}) or None,
        tags=body.tags or [],
        favorited=bool(body.favorited),
        saved=bool(body.saved),
        deleted=bool(body.deleted),
    )


def _without_sampling(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the question without its sampling factor: answers are exact here."""
    names = ("sampling_factor", "samplingFactor")
    kept = {name: value for name, value in question.items() if name not in names}
    if isinstance(source := kept.get("source"), dict):
        kept["source"] = _without_sampling(source)
    return kept


def stored_dashboard(body: PosthogDashboard) -> SnapshotDashboard:
    return SnapshotDashboard(
        id=body.id,
        name=body.name or "",
        description=body.description or "",
        pinned=bool(body.pinned),
        filters=body.filters or {},
        tags=body.tags or [],
        restriction_level=21 if body.restriction_level is None else body.restriction_level,
    )


def stored_tiles(body: PosthogDashboard) -> list[SnapshotTile]:
    """Return the tiles with insights and texts."""
    return [
        SnapshotTile(
            body.id,
            None if tile.insight is None else tile.insight.id,
            tile.color,
            tile.layouts or {},
            None if tile.insight is not None else tile.text_body,
        )
        for tile in body.tiles or []
        if tile.is_supported
    ]


def role_entry(body: PosthogRole) -> RoleEntry:
    """Convert a role; an unknown level becomes the stricter one."""
    can_edit = body.feature_flags_access_level >= AccessLevel.EDIT
    return RoleEntry(
        name=body.name,
        feature_flags_access_level=AccessLevel.EDIT if can_edit else AccessLevel.VIEW,
        members=sorted(member.user.email for member in body.members or []),
    )


def _choice(word: str | None, known: Any) -> Any:
    return word if word in get_args(known) else None


def as_utc(time: datetime) -> datetime:
    """Return an aware time; a time without a zone is UTC."""
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def _label(row: object, index: int) -> str:
    if isinstance(row, dict):
        for field in ("key", "name", "id"):
            if isinstance(row.get(field), str | int):
                return str(row[field])
    return f"[{index}]"
