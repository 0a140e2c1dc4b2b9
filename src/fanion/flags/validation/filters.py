"""What a flag may contain: checked when it is saved, not when it is evaluated.

source: flags.md sections 12 and 19, "Strictness"
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from fanion.errors import Invalid
from fanion.flags.engine.definition import parse_rules
from fanion.flags.validation import posthog_fields
from fanion.flags.validation.conditions import check_condition, no_such_cohort, read_cohort_id
from fanion.flags.validation.unchanged import (
    SET_LISTS,
    StoredParts,
    condition_sets,
    conditions,
    objects_of,
    same,
)
from fanion.flags.validation.variants import check_payloads, check_share, check_variants
from fanion.rest.unknown_fields import is_idle, require_known

KEY_CHARS_MAX = 400
_KEY = re.compile(r"[a-zA-Z0-9_-]+")


def check_key(key: str) -> None:
    """raises: Invalid"""
    if not _KEY.fullmatch(key):
        raise Invalid(
            "Only letters, numbers, hyphens (-) & underscores (_) are allowed.",
            code="invalid_key",
            attr="key",
        )


def check_filters(
    filters: Mapping[str, Any], *, creating: bool, stored: Mapping[str, Any] | None = None
) -> None:
    """What passes can be read by evaluation, but for what equals a part of what is stored: that is
    accepted unchecked, so that an old flag can always be changed elsewhere.

    filters:  as sent, with `groups`
    creating: there must be a condition set
    stored:   the filters of the flag as it is

    raises: Invalid, with the code and the text that clients compare
    """
    if stored is not None and same(filters, stored):
        return
    before = StoredParts(stored or {})
    groups = filters.get("groups")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise _invalid("Filters are not valid (groups must be a list of condition sets)")
    if creating and not groups:
        raise _invalid("Feature flags must have at least one condition set (group).")
    check_names(filters, stored)
    _check_unsupported(filters, before)
    variants = check_variants(filters, before)
    _check_groups(filters, variants, before)
    check_payloads(filters, variants, before)
    try:
        parse_rules(filters)
    except ValueError as error:
        if not before.has_problem(str(error)):
            raise not_computable(str(error)) from None


def check_names(filters: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> None:
    """raises: Invalid for a name that means nothing where it stands"""
    before = StoredParts(stored or {})
    unknown = [name for name in filters if not before.has_entry(name, filters[name])]
    require_known(unknown, posthog_fields.OF_FILTERS, "filters")
    for group, at in condition_sets(filters):
        if not before.has(group):
            require_known(group, posthog_fields.OF_GROUP, at)
            for leaf, place in conditions(group, at):
                if not before.has(leaf):
                    require_known(leaf, posthog_fields.OF_PROPERTY, place)
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict) and not before.has_entry("multivariate", multivariate):
        require_known(multivariate, posthog_fields.OF_MULTIVARIATE, "filters__multivariate")
        for number, variant in enumerate(objects_of(multivariate.get("variants"))):
            if not before.has(variant):
                at = f"filters__multivariate__variants__{number}"
                require_known(variant, posthog_fields.OF_VARIANT, at)


def not_computable(why: str) -> Invalid:
    return _invalid(f"Filters are not valid ({why})")


def with_enrollment_of(former: str, key: str, filters: Mapping[str, Any]) -> dict[str, Any]:
    """Super groups ask for the property `$feature_enrollment/<key>`: it follows the flag's key.

    source: flags.md section 19, "Key changes"
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


def is_group_flag(filters: Mapping[str, Any]) -> bool:
    return filters.get("aggregation_group_type_index") is not None


def is_simple(groups: Sequence[Mapping[str, Any]], filters: Mapping[str, Any]) -> bool:
    """One group without properties, by person. source: flags.md section 11"""
    return len(groups) == 1 and not groups[0].get("properties") and not is_group_flag(filters)


def cohort_ids(filters: Mapping[str, Any]) -> set[int]:
    """The cohorts that conditions name directly; what is no id names none."""
    found = set()
    for group, at in condition_sets(filters):
        for leaf, _ in conditions(group, at):
            number = read_cohort_id(leaf.get("value")) if leaf.get("type") == "cohort" else None
            if number is not None:
                found.add(number)
    return found


def require_cohorts(ids: Collection[int], exists: Callable[[int], bool]) -> None:
    for number in sorted(ids):
        if not exists(number):
            raise no_such_cohort(number)


def _invalid(detail: str, code: str | None = None) -> Invalid:
    return Invalid(detail, code=code, attr="filters")


def _check_unsupported(filters: Mapping[str, Any], before: StoredParts) -> None:
    """What asks for something that would silently not happen."""
    for name, instead in posthog_fields.UNSUPPORTED_OF_FILTERS.items():
        value = filters.get(name)
        if not is_idle(value) and not before.has_entry(name, value):
            raise Invalid(f'"{name}" is not supported. {instead}', attr=f"filters__{name}")
    if filters.get("properties") and not before.has_entry("properties", filters["properties"]):
        raise Invalid(
            "Conditions beside groups are not evaluated. Put them into a condition set in groups.",
            attr="filters__properties",
        )
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict) and multivariate.get("override_property_values"):
        raise Invalid(
            '"override_property_values" is not supported. Use a condition set with a variant.',
            attr="filters__multivariate__override_property_values",
        )


def _check_groups(
    filters: Mapping[str, Any], variants: Sequence[Mapping[str, Any]], before: StoredParts
) -> None:
    index = filters.get("aggregation_group_type_index")
    same_index = before.is_unchanged("aggregation_group_type_index", filters)
    for name in SET_LISTS:
        for place, group in enumerate(_sets(filters, name)):
            if not (same_index and before.has(group)):
                _check_set(group, index, f"filters__{name}__{place}")
                for number, leaf in enumerate(_properties(group)):
                    if not (same_index and before.has(leaf)):
                        at = f"filters__{name}__{place}__properties__{number}"
                        check_condition(leaf, index, at)
    keys = [variant.get("key") for variant in variants]
    same_variants = before.is_unchanged("multivariate", filters)
    for group in _sets(filters, "groups"):
        kept = same_variants and before.has(group)
        if group.get("variant") and group["variant"] not in keys and not kept:
            raise _invalid("Filters are not valid (variant override does not exist)")


def _sets(filters: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = filters.get(name)
    if value is not None and not isinstance(value, list):
        raise _invalid(f"Filters are not valid ({name} must be a list)")
    sets = objects_of(value)
    if value and not sets:
        raise _invalid(f"Filters are not valid ({name} must be a list of condition sets)")
    return sets


def _check_set(group: Mapping[str, Any], index: object, at: str) -> None:
    variant, own_index = group.get("variant"), group.get("aggregation_group_type_index")
    if variant is not None and not isinstance(variant, str):
        raise Invalid("Not a valid string.", attr=f"{at}__variant")
    if own_index is not None and own_index != index:
        raise Invalid(
            "Condition sets by different group types are not supported. Set "
            "aggregation_group_type_index of the filters.",
            attr=f"{at}__aggregation_group_type_index",
        )
    if group.get("rollout_percentage") is not None:
        check_share(group["rollout_percentage"], f"{at}__rollout_percentage")


def _properties(group: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    properties = group.get("properties")
    if properties is None:
        return []
    if not isinstance(properties, list) or not all(isinstance(p, dict) for p in properties):
        raise _invalid("Filters are not valid (properties must be a list of conditions)")
    return properties
