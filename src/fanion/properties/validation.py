"""Validation of conditions that SQL compares, in lists, insights and cohorts.

Also reads the `properties` and the times in the URL of a list.

Source: capture.md section 8; cohorts.md section 5; insights.md section 2b; "Strictness".
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from fanion.errors import Invalid
from fanion.properties.elements.comparisons import (
    OPERATORS_OF_ELEMENTS,
    elements_pattern,
    is_of_whole_elements,
)
from fanion.properties.elements.selectors import SelectorError
from fanion.properties.filters import COHORT_TYPES, ELEMENT, PROPERTY_TYPES, Property, parse_leaves
from fanion.properties.operators import (
    CONDITION_FIELDS,
    GROUP_TYPE_INDEX_MAX,
    MEMBERSHIP,
    QUERY_COMPARISONS,
    ValueKind,
    is_value_of,
)
from fanion.properties.values import parse_date_value
from fanion.rest.body_reader import is_deep
from fanion.rest.unknown_fields import no_choice, require_known, shortened, suggestion

# Conditions in one list; the text of the statement grows with each.
CONDITIONS_MAX: Final = 100
_NAME: Final = "properties"
_EXPECTED: Mapping[ValueKind, str] = {
    "any": "a text, a number, a boolean, or a list of at least one of these",
    "one": "a text, a number or a boolean",
    "number": "a number",
    "pattern": "a regular expression of the RE2 syntax",
    "texts": "a list of texts",
    "range": "a list of two numbers, the lesser first",
    "date": "a date, or a relative one such as -7d",
    "version": "a version such as 1.4.0",
    "wildcard": "a version such as 1.4.*",
    "cohort": "the id of a cohort",
}


def read_conditions(
    text: str | None, of: str, *, with_elements: bool = False
) -> tuple[Property, ...]:
    """Read a JSON list of conditions on events and persons; no text, empty text and null mean none.

    Args:
        of: Whose properties the conditions may name, for the error.
        with_elements: Also allow conditions on clicked elements.

    Raises:
        Invalid: The list cannot be read, or a condition is not valid.
    """
    if not text:
        return ()
    try:
        raw = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        raise Invalid("Properties are unparsable!", attr=_NAME) from None
    try:
        if is_deep(raw):
            raise ValueError("nested too deeply")
        if with_elements:
            _check_elements(raw)
        leaves = parse_leaves(raw, PROPERTY_TYPES | ({ELEMENT} if with_elements else set()))
    except ValueError as error:
        raise Invalid(f"Properties cannot be read: {error}.", attr=_NAME) from None
    if len(leaves) > CONDITIONS_MAX:
        raise Invalid(
            f"Ensure there are at most {CONDITIONS_MAX} properties, not {len(leaves)}.", attr=_NAME
        )
    properties = tuple(
        leaf for leaf in leaves if isinstance(leaf, Property) and leaf.type != "group"
    )
    if len(properties) < len(leaves):
        raise Invalid(f"Only conditions on properties of {of} are supported.", attr=_NAME)
    for index, leaf in enumerate(raw or ()):
        check_names(leaf, f"{_NAME}__{index}")
        check_comparison(leaf, f"{_NAME}__{index}")
    return properties


def check_names(leaf: Mapping[str, Any], at: str) -> None:
    """Raise Invalid for an unknown name in a condition at the path `at`."""
    require_known(leaf, CONDITION_FIELDS, at)


def check_comparison(leaf: Mapping[str, Any], at: str) -> None:
    """Check the operator and value of a condition on a property or cohort that could be parsed.

    Raises:
        Invalid: The type has no such operator, or the operator cannot compare with the value.
    """
    kind = str(leaf.get("type") or "event")
    known = MEMBERSHIP if kind in COHORT_TYPES else QUERY_COMPARISONS
    known = _of_element(leaf.get("key"), at) if kind == ELEMENT else known
    operator = leaf.get("operator") or "exact"
    if not isinstance(operator, str) or operator not in known:
        problem = f'Unknown operator "{shortened(operator)}" for type "{shortened(kind)}".'
        raise Invalid(
            f"{problem} {suggestion(str(operator), known)}",
            code="invalid_operator",
            attr=f"{at}__operator",
        )
    _check_value(operator, known[operator], leaf.get("value"), f"{at}__value")
    if kind == ELEMENT:
        _check_whole_elements(str(leaf.get("key")), leaf.get("value"), f"{at}__value")
    check_index(leaf.get("group_type_index"), f"{at}__group_type_index")


def _check_elements(raw: object) -> None:
    """Check conditions on clicked elements, which cannot be parsed if they are wrong."""
    for index, leaf in enumerate(raw if isinstance(raw, list) else ()):
        if isinstance(leaf, dict) and leaf.get("type") == ELEMENT:
            check_comparison(leaf, f"{_NAME}__{index}")


def _of_element(key: object, at: str) -> Mapping[str, ValueKind]:
    """Return the operators of a condition on clicked elements.

    Raises:
        Invalid: It names nothing of an element.
    """
    if not isinstance(key, str) or key not in OPERATORS_OF_ELEMENTS:
        raise no_choice(key, OPERATORS_OF_ELEMENTS, f"{at}__key")
    return {name: QUERY_COMPARISONS[name] for name in OPERATORS_OF_ELEMENTS[key]}


def _check_whole_elements(key: str, value: Any, at: str) -> None:
    """Raise Invalid for a value that is no tag or no selector."""
    if not is_of_whole_elements(key):
        return
    try:
        elements_pattern(key, value)
    except SelectorError as error:
        raise Invalid(str(error), code="invalid_value", attr=at) from None


def check_index(index: object, at: str) -> None:
    """Raise Invalid unless the value is the index of a group type, or None."""
    is_number = isinstance(index, int) and not isinstance(index, bool)
    if index is None or (is_number and index in range(GROUP_TYPE_INDEX_MAX + 1)):
        return
    raise Invalid(
        f'"{shortened(index)}" is not the index of a group type. It must be 0 to '
        f"{GROUP_TYPE_INDEX_MAX}.",
        attr=at,
    )


def no_such_cohort(cohort_id: int, at: str) -> Invalid:
    return Invalid(
        f"Cohort with id {cohort_id} does not exist",
        code="cohort_does_not_exist",
        attr=f"{at}__value",
    )


def _check_value(operator: str, kind: ValueKind, value: Any, at: str) -> None:
    if not is_value_of(kind, value):
        raise Invalid(
            f"Invalid value for operator {operator}: {shortened(value)}. It must be "
            f"{_EXPECTED[kind]}.",
            code="invalid_value",
            attr=at,
        )


def read_time_parameter(text: str | None, name: str, now: datetime) -> datetime | None:
    """Parse a time of a query string: absolute, or relative to now. Empty text is None.

    Raises:
        Invalid: The text is no time.
    """
    if not text:
        return None
    # In a query string a plus sign stands for a space.
    value = parse_date_value(text) or parse_date_value(text.replace(" ", "+"))
    if value is None:
        raise Invalid("Enter a valid date or a relative one such as -4h.", attr=name)
    return value if isinstance(value, datetime) else value.before(now)
