"""Conditions of a project that leave out test accounts.

Source: insights.md, section 2b.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fanion.errors import Invalid
from fanion.properties.filters import COHORT_TYPES, InCohort, parse_leaf
from fanion.properties.operators import VALUES_MAX
from fanion.properties.validation import check_comparison, check_names
from fanion.rest.unknown_fields import no_choice

ACCOUNT_FILTERS_MAX: Final = 50  # each is evaluated for every event that a trend counts
FIELD: Final = "test_account_filters"
# The kinds of conditions that insights can evaluate.
_TYPES = frozenset({"event", "person", "group"}) | COHORT_TYPES

Condition = Mapping[str, Any]


def check_account_filters(conditions: Sequence[Condition]) -> None:
    """Raise Invalid if there are too many conditions or one of them is not valid."""
    if len(conditions) > ACCOUNT_FILTERS_MAX:
        raise Invalid(
            f"Ensure this field has no more than {ACCOUNT_FILTERS_MAX} elements.",
            code="max_length",
            attr=FIELD,
        )
    for position, condition in enumerate(conditions):
        check_account_filter(condition, f"{FIELD}__{position}")


def check_account_filter(condition: Condition, at: str) -> None:
    """Raise Invalid if a condition is not valid.

    Args:
        at: The position of the condition, in the form of `attr`.
    """
    check_names(condition, at)
    kind = condition.get("type") or "event"
    if not isinstance(kind, str) or kind not in _TYPES:
        raise no_choice(kind, _TYPES, f"{at}__type")
    check_comparison(condition, at)
    if kind == "group" and condition.get("group_type_index") is None:
        attr = f"{at}__group_type_index"
        raise Invalid("This field is required.", code="required", attr=attr)
    value = condition.get("value")
    if isinstance(value, list) and len(value) > VALUES_MAX:
        detail = f"A condition cannot have more than {VALUES_MAX} values."
        raise Invalid(detail, attr=f"{at}__value")
    try:
        parse_leaf(condition)
    except ValueError as error:
        raise Invalid(f"The condition cannot be read: {error}.", attr=at) from None


def cohorts_of(conditions: Sequence[Condition]) -> Mapping[int, str]:
    """Return the ids of the cohorts that valid conditions name, with the conditions' positions."""
    leaves = [parse_leaf(condition) for condition in conditions]
    return {
        leaf.cohort_id: f"{FIELD}__{position}"
        for position, leaf in enumerate(leaves)
        if isinstance(leaf, InCohort)
    }
