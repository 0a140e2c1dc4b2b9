"""A flag as the management API returns it, what clients may write, and the columns this sets.

Source: api.md, "Feature flag"; flags.md sections 11 to 13.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, structs

from fanion.errors import AppError, Invalid
from fanion.flags.definitions.model import FlagAccess
from fanion.flags.definitions.rollback_conditions import check_conditions
from fanion.flags.definitions.store import StoredFlag, columns_of
from fanion.flags.definitions.validation.filters import (
    KEY_CHARS_MAX,
    check_filters,
    check_key,
    check_names,
    with_enrollment_of,
)
from fanion.flags.definitions.validation.posthog_fields import OF_FLAG
from fanion.flags.engine.definition import (
    BucketingIdentifier,
    EvaluationRuntime,
    grouped_filters,
    with_holdout_groups,
)
from fanion.flags.engine.percentages import with_whole_percentages
from fanion.projects.model import UserSummary
from fanion.rest.validation import normal_tags

# The shape of the object is fixed, so the version is sent in a header.
VERSION_HEADER = "X-Flag-Version"

Filters = Annotated[
    dict[str, Any],
    Meta(
        description="Release conditions, variants and payloads, stored as sent; whole percentages"
        " as integers."
    ),
]

Bucketing = Annotated[
    BucketingIdentifier,
    Meta(description="The id that percentages are based on; `distinct_id` by default."),
]
Runtime = Annotated[
    EvaluationRuntime,
    Meta(description="The flag is hidden from SDKs of the other kind; `all` by default."),
]
Contexts = Annotated[
    list[str],
    Meta(description="The flag is hidden from clients that name only other contexts."),
]
FlagKey = Annotated[str, Meta(min_length=1, max_length=KEY_CHARS_MAX)]
Version = Annotated[
    int,
    Meta(
        description="Version of the flag that the change is based on; 409 if there is a newer one."
    ),
]
# Fields of `_Sent` that do not follow from filters, and what to do instead.
_UNSUPPORTED = {
    "archived": "Set active to false.",
    "has_encrypted_payloads": "Payloads are stored as they are.",
    "evaluation_tags": "Use evaluation_contexts.",
}


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
    experiment_set: Annotated[list[int], Meta(description="Ids of its experiments.")]
    surveys: list[Any]
    features: list[Any]
    rollback_conditions: Any
    performed_rollback: bool | None
    can_edit: Annotated[bool, Meta(description="Whether the caller may change it.")]
    tags: list[str]
    usage_dashboard: int | None
    analytics_dashboards: list[int]
    has_enriched_analytics: bool
    # Not part of the documented object: sent only for flags that have them.
    bucketing_identifier: Bucketing | UnsetType = UNSET
    evaluation_runtime: Runtime | UnsetType = UNSET
    evaluation_contexts: Contexts | UnsetType = UNSET


class StaleFlag(AppError):
    """The flag has changed since the caller read it; the response contains the current flag."""

    status, type, default_code = 409, "invalid_request", "conflict"

    def __init__(self, current: FlagBody, version: int) -> None:
        super().__init__(
            "The feature flag was changed since you read it. Review the current version and "
            "try again.",
            attr="version",
        )
        self.current = current
        self.version = version

    def body(self) -> bytes:
        """Return the common fields of an error, with the flag and its version."""
        moved: dict[str, Any] = {"version": self.version, "current": self.current}
        return msgspec.json.encode({**self.fields(), **moved})

    def headers(self) -> tuple[tuple[str, str], ...]:
        return ((VERSION_HEADER.lower(), str(self.version)),)


class _Sent(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """PostHog's fields that are never written.

    The percentage must agree with the filters that it follows from; the others must be idle.
    """

    also_known: ClassVar[frozenset[str]] = OF_FLAG

    rollout_percentage: Annotated[
        float | UnsetType | None,
        Meta(description="Percentage of the only condition set; see `filters`."),
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
    performed_rollback: bool | UnsetType | None = UNSET
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
_SHOWN_IF_SET = ("bucketing_identifier", "evaluation_runtime", "evaluation_contexts")
# The fields of FlagBody that are columns.
_SHOWN = set(FlagBody.__struct_fields__) - {"filters", "rollout_percentage"}


def flag_body(flag: StoredFlag, access: FlagAccess) -> FlagBody:
    """Return the flag as the caller with this access sees it."""
    filters = grouped_filters(flag.definition)
    shown = {name: value for name, value in columns_of(flag).items() if name in _SHOWN}
    return FlagBody(
        **{name: value for name, value in shown.items() if value or name not in _SHOWN_IF_SET},
        **derived_of(filters),
        filters=filters,
        created_by=flag.created_by,
        surveys=[],
        features=[],
        can_edit=access.can_edit(flag.definition.id, flag.creator_id),
    )


def derived_of(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a flag that follow from its filters.

    Without filters a flag is on for everyone. It is simple if it has one group without properties
    and is evaluated for persons.

    Source: flags.md section 11.
    """
    groups = filters.get("groups", [{}])
    by_person = filters.get("aggregation_group_type_index") is None
    simple = by_person and len(groups) == 1 and not groups[0].get("properties")
    rollout = groups[0].get("rollout_percentage") if simple else None
    return {"is_simple_flag": simple, "rollout_percentage": rollout}


def created_columns(data: NewFlag, now: datetime) -> dict[str, Any]:
    """Return the columns of a new flag.

    Raises:
        Invalid: A field is not allowed.
    """
    check_key(data.key)
    filters = dict(with_whole_percentages(with_holdout_groups(data.filters or {})))
    if filters:
        _check_filters(filters, creating=True, stored=None)
    check_conditions(data.rollback_conditions, None)
    _require_agreement(data, filters, None)
    return {
        **_sent_columns(data),
        "filters": filters,
        "active": data.active is not False,
        "created_at": now if data.created_at is UNSET else data.created_at,
        "performed_rollback": _performed_rollback(data),
        "tags": normal_tags(data.tags or []),
        "analytics_dashboards": _each_once(data.analytics_dashboards or []),
        "evaluation_contexts": normal_tags(data.evaluation_contexts or []) or None,
    }


def changed_columns(data: FlagChanges, flag: StoredFlag) -> dict[str, Any]:
    """Return the columns that a change sets.

    Raises:
        Invalid: A field is not allowed.
    """
    values = _sent_columns(data)
    stored = grouped_filters(flag.definition)
    if "filters" in values:
        if values["filters"] is None:
            raise Invalid("This field may not be null.", code="null", attr="filters")
        values["filters"] = dict(with_whole_percentages(with_holdout_groups(values["filters"])))
        _check_filters(values["filters"], creating=False, stored=stored)
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
        values["analytics_dashboards"] = _each_once(dashboards)
    if "evaluation_contexts" in values:
        values["evaluation_contexts"] = normal_tags(values["evaluation_contexts"] or []) or None
    if data.active is True:
        values.setdefault("performed_rollback", False)
    return values


def _sent_columns(data: NewFlag | FlagChanges) -> dict[str, Any]:
    """Return the columns that were sent, or have a default, as they are."""
    return {
        name: value
        for name, value in structs.asdict(data).items()
        if value is not UNSET and name not in _NEVER_WRITTEN
    }


def _performed_rollback(data: NewFlag) -> bool | None:
    """Return what was sent; a flag that is created enabled has not been rolled back."""
    if data.performed_rollback is not UNSET:
        return data.performed_rollback
    return False if data.active is True else None


def _renamed(former: str, key: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return further columns to set: early enrollment is looked up under the new key."""
    renamed = with_enrollment_of(former, key, filters)
    return {} if renamed == filters else {"filters": renamed}


def _check_filters(
    filters: dict[str, Any], *, creating: bool, stored: Mapping[str, Any] | None
) -> None:
    if "groups" not in filters:
        check_names(filters)
        raise Invalid("Filters are not valid (groups are missing)", attr="filters")
    check_filters(filters, creating=creating, stored=stored)


def _require_agreement(
    data: _Sent, filters: Mapping[str, Any], stored: Mapping[str, Any] | None
) -> None:
    """Raise Invalid unless fields that follow from filters agree with them, before or after.

    The values before are allowed so that a flag can be sent back as it was read.

    Args:
        filters: The filters after the change.
        stored: The filters before it.
    """
    sent, after = data.rollout_percentage, _rollout_of(filters)
    before = after if stored is None else _rollout_of(stored)
    if sent is not UNSET and sent not in (after, before):
        raise Invalid(
            f"rollout_percentage follows from filters, where it is {_json(after)}, not "
            f"{_json(sent)}. Set it in filters.",
            attr="rollout_percentage",
        )
    for name, instead in _UNSUPPORTED.items():
        if getattr(data, name) not in (UNSET, None, False, []):
            raise Invalid(f'"{name}" is not supported. {instead}', attr=name)


def _rollout_of(filters: Mapping[str, Any]) -> Any:
    return derived_of(filters)["rollout_percentage"]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _each_once(ids: list[int]) -> list[int]:
    return list(dict.fromkeys(ids))
