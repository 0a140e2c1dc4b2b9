"""Filters as Python functions: each leaf becomes one closure when its flag is loaded.

Everything that a condition's own value decides is decided then; a test only looks up the
property and compares. Comparison is that of flags, which differs on purpose from the
calculation of cohorts: see the two columns of tests/cases/filters.json.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar

from fanion.properties.filters import Property
from fanion.properties.values import (
    MISSING,
    Ago,
    finite,
    number_of,
    parse_date,
    parse_date_value,
    range_of,
    search,
    text_of,
)

Properties = Mapping[str, Any]


class Moment(Protocol):
    """What a test may ask in addition to the properties. now: aware."""

    now: datetime


Where = TypeVar("Where", contravariant=True)
Test = Callable[[Properties, Where], bool]
PropertyTest = Test[Moment]
_Check = Callable[[Any], bool]

_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}
_INSTANT: Mapping[str, Callable[[Any, Any], bool]] = {
    "is_date_before": operator.lt,
    "is_date_after": operator.gt,
    "is_date_exact": operator.eq,
}


def property_test(leaf: Property) -> PropertyTest:
    """Compile one comparison. An unknown operator never matches.

    source: flags.md section 5
    """
    test = _operator_test(leaf)
    return inverted(test) if leaf.negation else test


def all_of(tests: Sequence[Test[Where]]) -> Test[Where]:
    """True when every test is; of none as well."""
    if len(tests) == 1:
        return tests[0]
    if len(tests) == 2:
        first, second = tests
        return lambda properties, where: first(properties, where) and second(properties, where)
    listed = tuple(tests)

    def every(properties: Properties, where: Where) -> bool:
        for test in listed:  # noqa: SIM110  a generator would cost more than the tests
            if not test(properties, where):
                return False
        return True

    return every


def any_of(tests: Sequence[Test[Where]]) -> Test[Where]:
    """True when one test is; never of none."""
    if len(tests) == 1:
        return tests[0]
    listed = tuple(tests)

    def some(properties: Properties, where: Where) -> bool:
        for test in listed:  # noqa: SIM110  a generator would cost more than the tests
            if test(properties, where):
                return True
        return False

    return some


def inverted(test: Test[Where]) -> Test[Where]:
    return lambda properties, where: not test(properties, where)


def always(properties: Properties, where: object) -> bool:
    return True


def never(properties: Properties, where: object) -> bool:
    return False


def _operator_test(leaf: Property) -> PropertyTest:
    name, key, value = leaf.operator, leaf.key, leaf.value
    if name == "exact":
        return _equal(key, wanted_texts(value))
    if name == "is_not":
        return _unequal(key, wanted_texts(value))
    if name == "is_set":
        return lambda properties, where: properties.get(key, MISSING) is not MISSING
    if name == "is_not_set":
        return lambda properties, where: properties.get(key, MISSING) is MISSING
    if name in ("icontains", "not_icontains"):
        return _contains(key, text_of(value).lower(), wanted=name == "icontains")
    if name in ("regex", "not_regex"):
        return _found(key, text_of(value), wanted=name == "regex")
    if name in _ORDER:
        return _ordered(key, value, _ORDER[name])
    if name in _INSTANT:
        return _dated(key, value, _INSTANT[name])
    if name in ("between", "not_between"):
        return _ranged(key, value, wanted=name == "between")
    positive = name.removeprefix("not_")
    if positive in _TEXT_CHECKS:
        return _checked(key, _TEXT_CHECKS[positive](value), wanted=positive == name)
    return never


def wanted_texts(value: Any) -> frozenset[str]:
    """What the lower-case text of a property may equal.

    The several spellings of a boolean in a condition, JSON text such as `"\\"true\\""` included,
    stand for `true` and `false`; as texts without case most of them are that already.
    """
    decoded = _decoded_boolean(value)
    if decoded is not None:
        return frozenset({decoded})
    members = value if isinstance(value, tuple | list) else (value,)
    return frozenset(text_of(member).lower() for member in members)


def _decoded_boolean(value: Any) -> str | None:
    """Text is read as JSON once: `" true "`, `"\\"True\\""` and `"[true]"` are booleans too."""
    if not isinstance(value, str):
        return None
    trimmed = value.strip(" \t\r\n")
    if trimmed[:1] == "[" and trimmed[-1:] == "]":
        trimmed = trimmed[1:-1].strip(" \t\r\n")
    if trimmed in ("true", "false"):
        return trimmed
    quoted = {'"true"': "true", '"True"': "true", '"false"': "false", '"False"': "false"}
    return quoted.get(trimmed)


def _equal(key: str, wanted: frozenset[str]) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key, MISSING)
        if type(value) is str:
            return value.lower() in wanted
        return value is not MISSING and text_of(value).lower() in wanted

    return test


def _unequal(key: str, wanted: frozenset[str]) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key, MISSING)
        if type(value) is str:
            return value.lower() not in wanted
        return value is MISSING or text_of(value).lower() not in wanted

    return test


def _contains(key: str, part: str, *, wanted: bool) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key, MISSING)
        if value is MISSING:
            return not wanted
        text = value if type(value) is str else text_of(value)
        return (part in text.lower()) is wanted

    return test


def _checked(key: str, check: Callable[[str], bool], *, wanted: bool) -> PropertyTest:
    """check: of the property's text in lower case"""

    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key, MISSING)
        if value is MISSING:
            return not wanted
        return check(text_of(value).lower()) is wanted

    return test


def _starting(value: Any) -> Callable[[str], bool]:
    part = text_of(value).lower()
    return lambda text: text.startswith(part)


def _ending(value: Any) -> Callable[[str], bool]:
    part = text_of(value).lower()
    return lambda text: text.endswith(part)


def _holding_any(value: Any) -> Callable[[str], bool]:
    members = value if isinstance(value, tuple | list) else (value,)
    parts = [text_of(member).lower() for member in members]
    return lambda text: any(part in text for part in parts)


_TEXT_CHECKS: Mapping[str, Callable[[Any], Callable[[str], bool]]] = {
    "starts_with": _starting,
    "ends_with": _ending,
    "icontains_multi": _holding_any,
}


def _ranged(key: str, value: Any, *, wanted: bool) -> PropertyTest:
    """What is no number is neither inside a range nor outside of it."""
    ends = range_of(value)
    if ends is None:
        return never
    low, high = ends

    def test(properties: Properties, where: object) -> bool:
        held = properties.get(key, MISSING)
        number = None if held is MISSING else finite(text_of(held))
        return number is not None and (low <= number <= high) is wanted

    return test


def _found(key: str, pattern: str, *, wanted: bool) -> PropertyTest:
    found = search(pattern)
    if found is None:
        return never

    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key, MISSING)
        if value is MISSING:
            return not wanted
        return found(value if type(value) is str else text_of(value)) is wanted

    return test


def _ordered(key: str, value: Any, compare: Callable[[Any, Any], bool]) -> PropertyTest:
    if isinstance(value, tuple | list):
        return never
    number, text = number_of(value), text_of(value)
    as_text: _Check = lambda held: compare(text_of(held), text)  # noqa: E731

    def numeric(properties: Properties, where: object) -> bool:
        held = properties.get(key, MISSING)
        kind = type(held)
        if kind is int or kind is float or kind is bool:
            return compare(held, number)
        if kind is str:
            return compare(held, text)
        return held is None and as_text(held)

    def textual(properties: Properties, where: object) -> bool:
        held = properties.get(key, MISSING)
        return held is not MISSING and as_text(held)

    return textual if number is None else numeric


def _dated(key: str, value: Any, compare: Callable[[Any, Any], bool]) -> PropertyTest:
    bound = parse_date_value(value)
    if bound is None:
        return never
    if isinstance(bound, Ago):
        return _dated_relative(key, bound, compare)
    return _dated_absolute(key, bound, compare)


def _dated_relative(key: str, ago: Ago, compare: Callable[[Any, Any], bool]) -> PropertyTest:
    def test(properties: Properties, where: Moment) -> bool:
        held = properties.get(key, MISSING)
        date = parse_date(held) if type(held) is str else None
        return date is not None and compare(date, ago.before(where.now))

    return test


def _dated_absolute(key: str, bound: datetime, compare: Callable[[Any, Any], bool]) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        held = properties.get(key, MISSING)
        date = parse_date(held) if type(held) is str else None
        return date is not None and compare(date, bound)

    return test
