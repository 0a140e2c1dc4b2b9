"""What a flag may contain: checked when it is saved, not when it is evaluated.

source: flags.md section 12
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fanion.errors import Invalid
from fanion.flags.definition import parse_rules
from fanion.properties.dates import parse_date_value
from fanion.properties.filters import ID_MAX
from fanion.properties.regex import search
from fanion.properties.values import range_of

KEY_CHARS_MAX = 400

# These compare with text; a number or a list there never worked in any client.
_TEXT_OPERATORS = frozenset(
    {
        *("regex", "not_regex", "icontains", "not_icontains", "gt", "gte", "lt", "lte"),
        *("starts_with", "not_starts_with", "ends_with", "not_ends_with"),
    }
)
_LIST_OPERATORS = frozenset({"icontains_multi", "not_icontains_multi"})
_RANGE_OPERATORS = frozenset({"between", "not_between"})
_PATTERN_OPERATORS = frozenset({"regex", "not_regex"})
_DATE_OPERATORS = frozenset({"is_date_before", "is_date_after"})
_PERSON_TYPES = frozenset({"person", "cohort", "flag"})


def check_filters(filters: Mapping[str, Any], *, creating: bool) -> None:
    """filters: as sent, with `groups`; `creating` also checks that percentages sum to 100

    What passes can be read by evaluation.

    raises: Invalid, with the code and the text that clients compare
    """
    groups = filters.get("groups")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise _invalid("Filters are not valid (groups must be a list of condition sets)")
    variants = _variants(filters)
    check = _group_property if is_group_flag(filters) else _person_property
    for group in groups:
        for leaf in _properties(group):
            check(leaf, filters)
            _check_value(leaf)
        if group.get("variant") and group["variant"] not in [v.get("key") for v in variants]:
            raise _invalid("Filters are not valid (variant override does not exist)")
    if creating and variants and _total(variants) != 100:
        raise Invalid("Invalid variant definitions: Variant rollout percentages must sum to 100.")
    _check_payloads(filters.get("payloads"), variants)
    try:
        parse_rules(filters)
    except ValueError as error:
        raise not_computable(str(error)) from None


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
    """The cohorts that the conditions name directly. raises: Invalid for an id that is none"""
    found = set()
    for group in filters.get("groups") or []:
        for leaf in _properties(group):
            if leaf.get("type") == "cohort":
                found.add(_cohort_id(leaf.get("value")))
    return found


def require_cohorts(filters: Mapping[str, Any], exists: Callable[[int], bool]) -> None:
    for cohort_id in sorted(cohort_ids(filters)):
        if not exists(cohort_id):
            raise _invalid(f"Cohort with id {cohort_id} does not exist", "cohort_does_not_exist")


def _invalid(detail: str, code: str | None = None) -> Invalid:
    return Invalid(detail, code=code, attr="filters")


def _variants(filters: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    multivariate = filters.get("multivariate") or {}
    variants = multivariate.get("variants") if isinstance(multivariate, dict) else None
    if variants is None and isinstance(multivariate, dict):
        return []
    if not isinstance(variants, list) or not all(isinstance(v, dict) for v in variants):
        raise _invalid("Filters are not valid (multivariate must hold a list of variants)")
    for variant in variants:
        share = variant.get("rollout_percentage")
        if not isinstance(variant.get("key"), str) or not _is_number(share):
            raise _invalid("Filters are not valid (a variant needs a key and a rollout_percentage)")
    return variants


def _total(variants: Sequence[Mapping[str, Any]]) -> float:
    # Thirds written with two digits must still count as a hundred.
    total: float = sum(variant["rollout_percentage"] for variant in variants)
    return round(total, 2)


def _properties(group: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    properties = group.get("properties") or []
    if not isinstance(properties, list) or not all(isinstance(p, dict) for p in properties):
        raise _invalid("Filters are not valid (properties must be a list of conditions)")
    rollout = group.get("rollout_percentage")
    if rollout is not None and not _is_number(rollout):
        raise _invalid("Filters are not valid (rollout_percentage must be a number)")
    return properties


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _person_property(leaf: Mapping[str, Any], _: Mapping[str, Any]) -> None:
    if not _is_one_of(_PERSON_TYPES, leaf.get("type")):
        raise _invalid("Filters are not valid (can only use person and cohort properties)")


def _group_property(leaf: Mapping[str, Any], filters: Mapping[str, Any]) -> None:
    index = filters["aggregation_group_type_index"]
    if leaf.get("type") != "group" or leaf.get("group_type_index") != index:
        raise _invalid("Filters are not valid (can only use group properties)")


def _check_value(leaf: Mapping[str, Any]) -> None:
    operator, value = leaf.get("operator"), leaf.get("value")
    if operator is not None and not isinstance(operator, str):
        raise _invalid(f"Filters are not valid (an operator must be text, not {operator!r})")
    if not _is_comparable(operator, value):
        raise _invalid(f"Invalid value for operator {operator}: {value}", "invalid_value")
    if operator in _PATTERN_OPERATORS and isinstance(value, str) and search(value) is None:
        raise _invalid(
            f"Invalid regular expression: {value}. Look-around and back-references are not "
            "supported: expressions follow the RE2 syntax.",
            "invalid_value",
        )
    if operator in _DATE_OPERATORS and parse_date_value(value) is None:
        raise _invalid(f"Invalid date value: {value}", "invalid_date")
    if leaf.get("type") == "cohort":
        _cohort_id(value)


def _is_comparable(operator: str | None, value: object) -> bool:
    if operator in _TEXT_OPERATORS:
        return isinstance(value, str)
    if operator in _LIST_OPERATORS:
        return isinstance(value, list) and all(isinstance(part, str) for part in value)
    return operator not in _RANGE_OPERATORS or range_of(value) is not None


def _is_one_of(words: frozenset[str], value: object) -> bool:
    """Lists and objects, which a client may send in place of a word, are none."""
    return isinstance(value, str) and value in words


def _cohort_id(value: object) -> int:
    try:
        if isinstance(value, int | str) and not isinstance(value, bool):
            number = int(value)
            if 0 < number <= ID_MAX:
                return number
    except ValueError:
        pass
    raise _invalid(f"Cohort with id {value} does not exist", "cohort_does_not_exist")


def _check_payloads(payloads: object, variants: Sequence[Mapping[str, Any]]) -> None:
    if payloads is None:
        return
    if not isinstance(payloads, dict):
        raise _invalid("Payloads must be passed as a dictionary")
    if not variants:
        if any(key != "true" for key in payloads):
            raise _invalid("Payload keys must be 'true' for boolean flags")
    elif any(key not in [variant["key"] for variant in variants] for key in payloads):
        raise _invalid("Payload keys must match a variant key for multivariate flags")
