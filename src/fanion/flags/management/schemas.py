"""A flag as the management API shows it.

source: api.md, "Feature flag"; flags.md section 11
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import AppError
from fanion.flags.engine.definition import BucketingIdentifier, EvaluationRuntime, grouped_filters
from fanion.flags.management.permissions import FlagAccess
from fanion.flags.storage.store import StoredFlag
from fanion.flags.validation.filters import is_simple
from fanion.projects.model import UserSummary

# The shape of the object is fixed, so the version is sent in a header.
VERSION_HEADER = "X-Flag-Version"

Filters = Annotated[
    dict[str, Any], Meta(description="Release conditions, variants and payloads, kept as sent.")
]

Bucketing = Annotated[
    BucketingIdentifier,
    Meta(description="Whose id decides percentages; `distinct_id` when it is not there."),
]
Runtime = Annotated[
    EvaluationRuntime,
    Meta(description="Clients of the other kind are not told the flag; `all` when not there."),
]
Contexts = Annotated[
    list[str],
    Meta(description="A client that names other contexts only is not told the flag."),
]


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
    can_edit: Annotated[bool, Meta(description="Whether the caller may change it.")]
    tags: list[str]
    usage_dashboard: int | None
    analytics_dashboards: list[int]
    has_enriched_analytics: bool
    # Not of the documented object: sent for flags that have them.
    bucketing_identifier: Bucketing | UnsetType = UNSET
    evaluation_runtime: Runtime | UnsetType = UNSET
    evaluation_contexts: Contexts | UnsetType = UNSET


class StaleFlag(AppError):
    """The flag has changed since the caller read it; the answer holds the flag as it is now."""

    status, type, default_code = 409, "invalid_request", "conflict"

    def __init__(self, current: FlagBody, version: int) -> None:
        super().__init__(
            "The feature flag was changed since you read it. Look at what it is now and try again.",
            attr="version",
        )
        self.current = current
        self.version = version

    def body(self) -> bytes:
        """The common fields of an error, with the flag and its version."""
        moved: dict[str, Any] = {"version": self.version, "current": self.current}
        return msgspec.json.encode({**self.fields(), **moved})

    def headers(self) -> tuple[tuple[str, str], ...]:
        return ((VERSION_HEADER.lower(), str(self.version)),)


def flag_body(flag: StoredFlag, access: FlagAccess) -> FlagBody:
    """access: of the caller"""
    row = flag.definition
    filters = grouped_filters(row)
    return FlagBody(
        id=row.id,
        name=row.name,
        key=row.key,
        filters=filters,
        deleted=row.deleted,
        active=row.active,
        created_by=flag.created_by,
        created_at=flag.created_at,
        **derived_of(filters),
        ensure_experience_continuity=row.ensure_experience_continuity,
        experiment_set=[],
        surveys=[],
        features=[],
        rollback_conditions=flag.rollback_conditions,
        performed_rollback=flag.performed_rollback,
        can_edit=access.can_edit(row.id, flag.creator_id),
        tags=flag.tags,
        usage_dashboard=flag.usage_dashboard,
        analytics_dashboards=flag.analytics_dashboards,
        has_enriched_analytics=flag.has_enriched_analytics,
        bucketing_identifier=row.bucketing_identifier or UNSET,
        evaluation_runtime=row.evaluation_runtime or UNSET,
        evaluation_contexts=list(row.evaluation_contexts) if row.evaluation_contexts else UNSET,
    )


def derived_of(filters: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a flag that follow from its filters; without any it is on for everyone."""
    groups = filters.get("groups", [{}])
    simple = is_simple(groups, filters)
    rollout = groups[0].get("rollout_percentage") if simple else None
    return {"is_simple_flag": simple, "rollout_percentage": rollout}
