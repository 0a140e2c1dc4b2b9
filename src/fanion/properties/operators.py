"""The operators of conditions in one table: for which kinds of conditions, with which values.

source: flags.md sections 5, 7, 8 and 19
"""

from collections.abc import Mapping
from typing import Any, Literal

from fanion.properties.dates import parse_date_value
from fanion.properties.regex import search
from fanion.properties.values import range_of

# `any`:      a text, number or boolean, or a list of those
# `text`:     a text only; what is compared as text has never worked with anything else
# `none`:     whatever is sent is not looked at
# `flag`:     true, false or a variant
ValueKind = Literal["any", "text", "texts", "pattern", "range", "date", "none", "cohort", "flag"]

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
    "gt": "text",
    "gte": "text",
    "lt": "text",
    "lte": "text",
    "between": "range",
    "not_between": "range",
    "is_set": "none",
    "is_not_set": "none",
    "is_date_exact": "date",
    "is_date_before": "date",
    "is_date_after": "date",
}
# `exact` is what older interfaces wrote for `in`.
MEMBERSHIP: Mapping[str, ValueKind] = {"in": "cohort", "not_in": "cohort", "exact": "cohort"}
DEPENDENCY: Mapping[str, ValueKind] = {"flag_evaluates_to": "flag"}

# By the type of the condition; without an operator a condition is `exact`.
OPERATORS: Mapping[str, Mapping[str, ValueKind]] = {
    "person": COMPARISONS,
    "group": COMPARISONS,
    "cohort": MEMBERSHIP,
    "flag": DEPENDENCY,
}
VALUES_MAX = 1000  # of one condition. source: flags.md section 12


def is_value_of(kind: ValueKind, value: Any) -> bool:
    """Whether an operator of this kind can compare with the value."""
    match kind:
        case "none":
            return True
        case "text":
            return isinstance(value, str)
        case "pattern":
            return isinstance(value, str) and search(value) is not None
        case "texts":
            return isinstance(value, list) and all(isinstance(one, str) for one in value)
        case "range":
            return range_of(value) is not None
        case "date":
            return parse_date_value(value) is not None
        case "flag":
            return isinstance(value, bool | str)
        case "cohort":
            return isinstance(value, int | str) and not isinstance(value, bool)
    members = value if isinstance(value, list) else [value]
    return bool(members) and all(isinstance(one, str | int | float) for one in members)
