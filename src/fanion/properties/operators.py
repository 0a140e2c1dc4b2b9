"""The table of operators: the types of conditions that have them, and the values they take.

Source: flags.md sections 5, 7, 8 and 19; cohorts.md section 5.
"""

from collections.abc import Mapping
from typing import Any, Literal

from fanion.properties.dates import date_window
from fanion.properties.values import compile_pattern, number_of, range_of
from fanion.properties.versions import version_window

# `any`:      a text, number or boolean, or a list of these
# `one`:      a text, number or boolean
# `text`:     only a text; operators that compare text have never worked with anything else
# `number`:   a number, or the text of a number
# `order`:    a number or a text; a text that is not a number is compared as text
# `date`:     a date, with or without a time, or a relative date such as `-7d`
# `version`:  a version
# `wildcard`: a version whose last numbers may be `*`
# `none`:     any value, which is ignored
# `flag`:     true, false or the key of a variant
ValueKind = (
    Literal["any", "one", "text", "texts", "pattern", "number", "order", "range"]
    | Literal["date", "version", "wildcard", "none", "cohort", "flag"]
)

COMPARISONS: Mapping[str, ValueKind] = {
    "exact": "any",
    "is_not": "any",
    "icontains": "text",
    "not_icontains": "text",
    "icontains_multi": "texts",
    "not_icontains_multi": "texts",
    "starts_with": "text",
    "not_starts_with": "text",
    "ends_with": "text",
    "not_ends_with": "text",
    "regex": "pattern",
    "not_regex": "pattern",
    "gt": "order",
    "gte": "order",
    "lt": "order",
    "lte": "order",
    "between": "range",
    "not_between": "range",
    "is_set": "none",
    "is_not_set": "none",
    "is_date_exact": "date",
    "is_date_before": "date",
    "is_date_after": "date",
    "semver_eq": "version",
    "semver_neq": "version",
    "semver_gt": "version",
    "semver_gte": "version",
    "semver_lt": "version",
    "semver_lte": "version",
    "semver_tilde": "version",
    "semver_caret": "version",
    "semver_wildcard": "wildcard",
}
# Older interfaces wrote `exact` for `in`.
MEMBERSHIP: Mapping[str, ValueKind] = {"in": "cohort", "not_in": "cohort", "exact": "cohort"}
DEPENDENCY: Mapping[str, ValueKind] = {"flag_evaluates_to": "flag"}

# Operators by the type of the condition; without an operator a condition is `exact`.
OPERATORS: Mapping[str, Mapping[str, ValueKind]] = {
    "person": COMPARISONS,
    "group": COMPARISONS,
    "cohort": MEMBERSHIP,
    "flag": DEPENDENCY,
}
# In cohorts, lists and insights numbers and booleans may stand for text, and only numbers have an
# order.
_QUERY_KINDS: Mapping[ValueKind, ValueKind] = {"text": "one", "order": "number"}
QUERY_COMPARISONS: Mapping[str, ValueKind] = {
    name: _QUERY_KINDS.get(kind, kind) for name, kind in COMPARISONS.items()
}
# Operators in the criteria of cohorts by type; `event` is for the conditions in `event_filters`.
CRITERIA_OPERATORS: Mapping[str, Mapping[str, ValueKind]] = {
    "person": QUERY_COMPARISONS,
    "event": QUERY_COMPARISONS,
    "cohort": MEMBERSHIP,
}
VALUES_MAX = 1000  # values of one condition. Source: flags.md section 12.
GROUP_TYPE_INDEX_MAX = 4

# Fields that PostHog's API, clients and interface write into a condition on a property, a cohort or
# a flag.
CONDITION_FIELDS = frozenset(
    {
        *("key", "value", "operator", "type", "group_type_index", "negation"),
        *("label", "cohort_name", "group_key_names", "dependency_chain"),
    }
)


def is_value_of(kind: ValueKind, value: Any) -> bool:
    """Return whether an operator of this kind can compare with the value."""
    match kind:
        case "none":
            return True
        case "text":
            return isinstance(value, str)
        case "one":
            return isinstance(value, str | int | float)
        case "number":
            return number_of(value) is not None
        case "order":
            return isinstance(value, str) or number_of(value) is not None
        case "version":
            return version_window("semver_eq", value) is not None
        case "wildcard":
            return version_window("semver_wildcard", value) is not None
        case "pattern":
            return isinstance(value, str) and compile_pattern(value) is not None
        case "texts":
            return isinstance(value, list) and all(isinstance(member, str) for member in value)
        case "range":
            return range_of(value) is not None
        case "date":
            return date_window("is_date_exact", value) is not None
        case "flag":
            return isinstance(value, bool | str)
        case "cohort":
            return isinstance(value, int | str) and not isinstance(value, bool)
    members = value if isinstance(value, list) else [value]
    return bool(members) and all(isinstance(member, str | int | float) for member in members)
