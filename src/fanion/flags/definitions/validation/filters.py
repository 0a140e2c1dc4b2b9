"""Validation of a flag's contents when it is saved, not when it is evaluated.

Parts that equal a stored part are accepted unchecked, so that an old flag can always be changed
elsewhere.

Source: flags.md sections 12 and 19, "Strictness".
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from fanion.errors import Invalid
from fanion.flags.definitions.validation import posthog_fields
from fanion.flags.definitions.validation.conditions import (
    check_condition,
    no_such_cohort,
    read_cohort_id,
)
from fanion.flags.engine.definition import parse_rules
from fanion.rest.unknown_fields import is_idle, require_known, shortened

KEY_CHARS_MAX = 400
_KEY = re.compile(r"[a-zA-Z0-9_-]+")
# The fields that hold condition sets.
SET_LISTS = ("groups", "super_groups", "holdout_groups")

_encode = msgspec.json.Encoder(order="deterministic").encode


class StoredParts:
    """The parts of the stored filters, which are accepted unchecked."""

    def __init__(self, filters: Mapping[str, Any]) -> None:
        self._filters = filters
        self._parts = {_encode(part) for part in _parts_of_filters(filters)}

    def has_part(self, part: object) -> bool:
        """Return whether a condition set, condition or variant is stored, at any position."""
        return bool(self._parts) and _encode(part) in self._parts

    def has_entry(self, name: str, value: object) -> bool:
        return name in self._filters and same_json(self._filters[name], value)

    def is_unchanged(self, name: str, filters: Mapping[str, Any]) -> bool:
        """Return whether the new filters have the stored value, or none like the stored ones."""
        return same_json(self._filters.get(name), filters.get(name))

    def has_payload(self, key: str, payload: object) -> bool:
        payloads = self._filters.get("payloads")
        return isinstance(payloads, dict) and key in payloads and same_json(payloads[key], payload)

    def has_problem(self, problem: str) -> bool:
        try:
            parse_rules(self._filters)
        except ValueError as error:
            return str(error) == problem
        return False


def condition_sets(filters: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield every condition set with its path, in the form of `attr`."""
    for name in SET_LISTS:
        for index, group in enumerate(objects_of(filters.get(name))):
            yield group, f"filters__{name}__{index}"


def conditions(group: Mapping[str, Any], at: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    for index, leaf in enumerate(objects_of(group.get("properties"))):
        yield leaf, f"{at}__properties__{index}"


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the list if it contains only objects, else an empty one."""
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return value
    return []


def same_json(value: object, other: object) -> bool:
    """Return whether two values are equal as JSON: True is not 1, and key order does not count."""
    return _encode(value) == _encode(other)


def _parts_of_filters(filters: Mapping[str, Any]) -> Iterator[Any]:
    for group, at in condition_sets(filters):
        yield group
        for leaf, _ in conditions(group, at):
            yield leaf
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict):
        yield from objects_of(multivariate.get("variants"))


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
    before = StoredParts(stored or {})
    groups = filters.get("groups")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise _invalid("Filters are not valid (groups must be a list of condition sets)")
    if creating and not groups:
        raise _invalid("Feature flags must have at least one condition set (group).")
    _check_names(filters, before)
    _check_unsupported(filters, before)
    variants = check_variants(filters, before)
    _check_groups(filters, variants, before)
    check_payloads(filters, variants, before, plain=plain_payloads)
    try:
        parse_rules(filters)
    except ValueError as error:
        if not before.has_problem(str(error)):
            raise not_computable(str(error)) from None


def check_names(filters: Mapping[str, Any]) -> None:
    """Raise Invalid for an unknown name."""
    _check_names(filters, StoredParts({}))


def _check_names(filters: Mapping[str, Any], before: StoredParts) -> None:
    unknown = [name for name in filters if not before.has_entry(name, filters[name])]
    require_known(unknown, posthog_fields.OF_FILTERS, "filters")
    for group, at in condition_sets(filters):
        if not before.has_part(group):
            require_known(group, posthog_fields.OF_GROUP, at)
            for leaf, leaf_at in conditions(group, at):
                if not before.has_part(leaf):
                    require_known(leaf, posthog_fields.OF_PROPERTY, leaf_at)
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict) and not before.has_entry("multivariate", multivariate):
        require_known(multivariate, posthog_fields.OF_MULTIVARIATE, "filters__multivariate")
        for number, variant in enumerate(objects_of(multivariate.get("variants"))):
            if not before.has_part(variant):
                at = f"filters__multivariate__variants__{number}"
                require_known(variant, posthog_fields.OF_VARIANT, at)


def not_computable(why: str) -> Invalid:
    return _invalid(f"Filters are not valid ({why})")


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


def _invalid(detail: str, code: str | None = None) -> Invalid:
    return Invalid(detail, code=code, attr="filters")


def _check_unsupported(filters: Mapping[str, Any], before: StoredParts) -> None:
    """Raise Invalid for options that would have no effect."""
    for name, instead in posthog_fields.UNSUPPORTED_OF_FILTERS.items():
        if name not in filters:
            continue
        value = filters[name]
        if not is_idle(value) and not before.has_entry(name, value):
            raise Invalid(f'"{name}" is not supported. {instead}', attr=f"filters__{name}")
    if filters.get("properties") and not before.has_entry("properties", filters["properties"]):
        raise Invalid(
            "properties next to groups are not evaluated. Put them into a condition set in groups.",
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
        for position, group in enumerate(_sets(filters, name)):
            if not (same_index and before.has_part(group)):
                _check_set(group, index, f"filters__{name}__{position}")
                for number, leaf in enumerate(_properties(group)):
                    if not (same_index and before.has_part(leaf)):
                        at = f"filters__{name}__{position}__properties__{number}"
                        check_condition(leaf, index, at)
    keys = [variant.get("key") for variant in variants]
    same_variants = before.is_unchanged("multivariate", filters)
    for group in _sets(filters, "groups"):
        was_there = same_variants and before.has_part(group)
        if group.get("variant") and group["variant"] not in keys and not was_there:
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


def check_variants(filters: Mapping[str, Any], before: StoredParts) -> Sequence[Mapping[str, Any]]:
    """Return the variants, each with a key and a share, or raise Invalid."""
    multivariate = filters.get("multivariate") or {}
    variants = multivariate.get("variants") if isinstance(multivariate, dict) else None
    if variants is None and isinstance(multivariate, dict):
        return []
    if not isinstance(variants, list) or not all(isinstance(v, dict) for v in variants):
        raise _invalid("Filters are not valid (multivariate must hold a list of variants)")
    if before.has_entry("multivariate", multivariate):
        return variants
    for index, variant in enumerate(variants):
        if not before.has_part(variant):
            _check_variant(variant, f"filters__multivariate__variants__{index}")
    if variants and _total_share(variants) != 100:
        raise Invalid("Invalid variant definitions: Variant rollout percentages must sum to 100.")
    seen: set[str] = set()
    for index, variant in enumerate(variants):
        key = variant["key"]
        if key in seen:
            at = f"filters__multivariate__variants__{index}__key"
            raise Invalid(f'There is another variant with the key "{shortened(key)}".', attr=at)
        seen.add(key)
    return variants


def _check_variant(variant: Mapping[str, Any], at: str) -> None:
    key, share, name = (variant.get(field) for field in ("key", "rollout_percentage", "name"))
    if not isinstance(key, str) or not _is_number(share):
        raise _invalid("Filters are not valid (a variant needs a key and a rollout_percentage)")
    if not key.strip():
        raise Invalid("This field may not be blank.", code="blank", attr=f"{at}__key")
    if name is not None and not isinstance(name, str):
        raise Invalid("Not a valid string.", attr=f"{at}__name")
    check_share(share, f"{at}__rollout_percentage")


def check_share(value: Any, at: str) -> None:
    if not _is_number(value):
        raise _invalid("Filters are not valid (rollout_percentage must be a number)")
    if not 0 <= value <= 100:
        raise Invalid(f"A percentage must be between 0 and 100, not {value}.", attr=at)


def _total_share(variants: Sequence[Mapping[str, Any]]) -> float:
    # Thirds written with two digits must still count as a hundred.
    total: float = sum(_share(variant) for variant in variants)
    return round(total, 2)


def _share(variant: Mapping[str, Any]) -> float:
    """Return a variant's share; a stored variant may have none that is a number."""
    share = variant.get("rollout_percentage")
    return share if isinstance(share, int | float) else 0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def check_payloads(
    filters: Mapping[str, Any],
    variants: Sequence[Mapping[str, Any]],
    before: StoredParts,
    *,
    plain: bool = False,
) -> None:
    """Check that payloads belong to a value, and that text is JSON unless it may be `plain`."""
    payloads = filters.get("payloads")
    same_variants = before.is_unchanged("multivariate", filters)
    if payloads is None or (same_variants and before.has_entry("payloads", payloads)):
        return
    if not isinstance(payloads, dict):
        raise _invalid("Payloads must be passed as a dictionary")
    keys = [variant.get("key") for variant in variants] or ["true"]
    for key, payload in payloads.items():
        if key not in keys and not (same_variants and before.has_payload(key, payload)):
            if not variants:
                raise _invalid("Payload keys must be 'true' for boolean flags")
            raise _invalid("Payload keys must match a variant key for multivariate flags")
        broken = isinstance(payload, str) and not plain and not _is_json(payload)
        if broken and not before.has_payload(key, payload):
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
