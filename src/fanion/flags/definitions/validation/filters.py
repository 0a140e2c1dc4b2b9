"""Validation of a flag's contents when it is saved, not when it is evaluated.

Parts that equal a stored part are accepted unchecked, so that an old flag can always be changed
elsewhere.

Source: flags.md sections 12 and 19, "Strictness".
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from fanion.errors import Invalid
from fanion.flags.definitions.validation.conditions import no_such_cohort, read_cohort_id
from fanion.flags.definitions.validation.fields import (
    ConditionSet,
    Filters,
    Multivariate,
    Variant,
)
from fanion.flags.definitions.validation.parts import (
    FilterChange,
    FilterPart,
    condition_sets,
    conditions,
    is_list_of_objects,
    not_valid,
    objects_of,
    same_json,
)
from fanion.flags.engine.definition import parse_rules
from fanion.properties.operators import CONDITION_FIELDS
from fanion.rest.options import names_of, read
from fanion.rest.unknown_fields import require_known

KEY_CHARS_MAX = 400
_KEY = re.compile(r"[a-zA-Z0-9_-]+")
_OF_FILTERS: Final = names_of(Filters)
_OF_MULTIVARIATE: Final = names_of(Multivariate)
_OF_VARIANT: Final = names_of(Variant)
OF_CONDITION_SET: Final = names_of(ConditionSet)


def check_key(key: str) -> None:
    if not _KEY.fullmatch(key):
        raise Invalid(
            "Only letters, numbers, hyphens (-) & underscores (_) are allowed.",
            code="invalid_key",
            attr="key",
        )


def check_filters(
    filters: Mapping[str, Any],
    *,
    creating: bool,
    stored: Mapping[str, Any] | None = None,
    plain_payloads: bool = False,
) -> None:
    """Check that evaluation can read the filters.

    Parts that equal a stored part are accepted unchecked, so that an old flag can always be changed
    elsewhere.

    Args:
        filters: As sent, with `groups`.
        creating: Require at least one condition set.
        stored: The filters of the flag as it is.
        plain_payloads: Allow payloads that are text but not JSON, as older interfaces wrote them.

    Raises:
        Invalid: With the code and the text that clients compare.
    """
    if stored is not None and same_json(filters, stored):
        return
    change = FilterChange(filters, stored or {})
    groups = filters.get("groups")
    if not is_list_of_objects(groups):
        raise not_valid("groups must be a list of condition sets")
    if creating and not groups:
        raise _invalid("Feature flags must have at least one condition set (group).")
    _check_names(filters, change)
    variants = read(Filters, FilterPart(filters, "filters", change)).multivariate.variants
    _check_overrides(groups, variants, change)
    _check_payloads(filters.get("payloads"), variants, change, plain=plain_payloads)
    try:
        parse_rules(filters)
    except ValueError as error:
        if not change.has_problem(str(error)):
            raise not_valid(str(error)) from None


def check_names(filters: Mapping[str, Any]) -> None:
    """Raise Invalid for an unknown name."""
    _check_names(filters, FilterChange(filters, {}))


def _check_names(filters: Mapping[str, Any], change: FilterChange) -> None:
    require_known((name for name in filters if not change.has_entry(name)), _OF_FILTERS, "filters")
    for group, at in condition_sets(filters):
        if not change.has_stored(group):
            require_known(group, OF_CONDITION_SET, at)
            for leaf, leaf_at in conditions(group, at):
                if not change.has_stored(leaf):
                    require_known(leaf, CONDITION_FIELDS, leaf_at)
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict) and not change.has_entry("multivariate"):
        require_known(multivariate, _OF_MULTIVARIATE, "filters__multivariate")
        for number, variant in enumerate(objects_of(multivariate.get("variants"))):
            if not change.has_stored(variant):
                at = f"filters__multivariate__variants__{number}"
                require_known(variant, _OF_VARIANT, at)


def with_enrollment_of(former: str, key: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return filters in which early enrollment follows a new key of the flag.

    Super groups use the property `$feature_enrollment/<key>`.

    Source: flags.md section 19, "Key changes".
    """
    before, after = f"$feature_enrollment/{former}", f"$feature_enrollment/{key}"

    def renamed(leaf: Any) -> Any:
        is_it = isinstance(leaf, dict) and leaf.get("key") == before
        return {**leaf, "key": after} if is_it else leaf

    groups = filters.get("super_groups")
    if not isinstance(groups, list):
        return dict(filters)
    written = [
        {**group, "properties": [renamed(leaf) for leaf in group["properties"]]}
        if isinstance(group, dict) and isinstance(group.get("properties"), list)
        else group
        for group in groups
    ]
    return {**filters, "super_groups": written}


def cohort_ids(filters: Mapping[str, Any]) -> set[int]:
    """Return the cohorts that conditions name directly, ignoring values that are not ids."""
    ids = set()
    for group, at in condition_sets(filters):
        for leaf, _ in conditions(group, at):
            number = read_cohort_id(leaf.get("value")) if leaf.get("type") == "cohort" else None
            if number is not None:
                ids.add(number)
    return ids


def require_cohorts(ids: Collection[int], exists: Callable[[int], bool]) -> None:
    for number in sorted(ids):
        if not exists(number):
            raise no_such_cohort(number)


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, attr="filters")


def _check_overrides(
    groups: Sequence[Mapping[str, Any]],
    variants: Sequence[Mapping[str, Any]],
    change: FilterChange,
) -> None:
    keys = [variant.get("key") for variant in variants]
    for group in groups:
        was_there = change.same_variants and change.has_stored(group)
        if group.get("variant") and group["variant"] not in keys and not was_there:
            raise not_valid("variant override does not exist")


def _check_payloads(
    payloads: object,
    variants: Sequence[Mapping[str, Any]],
    change: FilterChange,
    *,
    plain: bool,
) -> None:
    """Check that payloads belong to a value, and that text is JSON unless it may be `plain`."""
    if payloads is None or (change.same_variants and change.has_entry("payloads")):
        return
    if not isinstance(payloads, dict):
        raise _invalid("Payloads must be passed as a dictionary")
    keys = [variant.get("key") for variant in variants] or ["true"]
    for key, payload in payloads.items():
        if key not in keys and not (change.same_variants and change.has_payload(key, payload)):
            if not variants:
                raise _invalid("Payload keys must be 'true' for boolean flags")
            raise _invalid("Payload keys must match a variant key for multivariate flags")
        broken = isinstance(payload, str) and not plain and not _is_json(payload)
        if broken and not change.has_payload(key, payload):
            raise Invalid("Payload value is not valid JSON", attr=f"filters__payloads__{key}")


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which clients cannot read."""
    raise ValueError(name)
