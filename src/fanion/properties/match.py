"""Filters as Python functions: each leaf becomes one closure when its flag is loaded.

Everything that depends only on the condition's own value is decided then; a test only looks up the
property and compares. `condition_sql` is the equivalent for the event store;
tests/cases/filters.json is the table for both. A null property has no value to compare with, like a
missing one; only `is_set` distinguishes them.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar

from fanion.properties.dates import USUAL, date_window, instants, micros_of, window_before
from fanion.properties.filters import Property
from fanion.properties.values import (
    EXACT_MAX,
    MISSING,
    Ago,
    compile_pattern,
    number_notations,
    number_of,
    range_of,
    text_of,
)
from fanion.properties.versions import version_key, version_window

Properties = Mapping[str, Any]


class Moment(Protocol):
    """The current time, which a test may need in addition to the properties.

    Attributes:
        now: An aware time.
    """

    now: datetime


Where = TypeVar("Where", contravariant=True)
Test = Callable[[Properties, Where], bool]
PropertyTest = Test[Moment]

DATES: Final = ("is_date_before", "is_date_after", "is_date_exact")
VERSIONS: Final = (
    *("semver_eq", "semver_neq", "semver_gt", "semver_gte", "semver_lt", "semver_lte"),
    *("semver_tilde", "semver_caret", "semver_wildcard"),
)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)  # no property has a time in this year
_ORDER: Mapping[str, Callable[[Any, Any], bool]] = {
    "gt": operator.gt,
    "gte": operator.ge,
    "lt": operator.lt,
    "lte": operator.le,
}


def property_test(leaf: Property) -> PropertyTest:
    """Compile one comparison. An unknown operator never matches.

    Source: flags.md section 5.
    """
    test = _operator_test(leaf)
    return inverted(test) if leaf.negation else test


def all_of(tests: Sequence[Test[Where]]) -> Test[Where]:
    """Return a test that passes if every test does, also if there are none."""
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
    """Return a test that passes if any test does, and never if there are none."""
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
        return _equal(key, equal_texts(value))
    if name == "is_not":
        return _unequal(key, equal_texts(value))
    if name == "is_set":
        return lambda properties, where: properties.get(key, MISSING) is not MISSING
    if name == "is_not_set":
        return lambda properties, where: properties.get(key, MISSING) is MISSING
    if name in ("icontains", "not_icontains"):
        return _contains(key, text_of(value).lower(), expected=name == "icontains")
    if name in ("regex", "not_regex"):
        return _matching(key, text_of(value), expected=name == "regex")
    if name in _ORDER:
        return _ordered(key, value, _ORDER[name])
    if name in DATES:
        return _dated(key, value, name)
    if name in VERSIONS:
        return _versioned(key, value, name)
    if name in ("between", "not_between"):
        return _ranged(key, value, expected=name == "between")
    positive = name.removeprefix("not_")
    if positive in _TEXT_CHECKS:
        return _checked(key, _TEXT_CHECKS[positive](value), expected=positive == name)
    return never


def equal_texts(value: Any) -> frozenset[str]:
    r"""Return the texts that the lower-case text of a property may equal.

    All spellings of a boolean in a condition, including JSON text such as `"\"true\""`, stand for
    `true` and `false`; all spellings of a number stand for its stored form.
    """
    decoded = _decoded_boolean(value)
    if decoded is not None:
        return frozenset({decoded})
    members = value if isinstance(value, tuple | list) else (value,)
    texts = [text_of(member).lower() for member in members]
    return frozenset(texts).union(*map(number_notations, texts))


def _decoded_boolean(value: Any) -> str | None:
    r"""Return the boolean that a text writes, decoded as JSON once.

    `" true "`, `"\"True\""` and `"[true]"` are booleans too.
    """
    if not isinstance(value, str):
        return None
    trimmed = value.strip(" \t\r\n")
    if trimmed[:1] == "[" and trimmed[-1:] == "]":
        trimmed = trimmed[1:-1].strip(" \t\r\n")
    if trimmed in ("true", "false"):
        return trimmed
    quoted = {'"true"': "true", '"True"': "true", '"false"': "false", '"False"': "false"}
    return quoted.get(trimmed)


def _equal(key: str, texts: frozenset[str]) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key)
        if type(value) is str:
            return value.lower() in texts
        return value is not None and text_of(value).lower() in texts

    return test


def _unequal(key: str, texts: frozenset[str]) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key)
        if type(value) is str:
            return value.lower() not in texts
        return value is None or text_of(value).lower() not in texts

    return test


def _contains(key: str, part: str, *, expected: bool) -> PropertyTest:
    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key)
        if value is None:
            return not expected
        text = value if type(value) is str else text_of(value)
        return (part in text.lower()) is expected

    return test


def _checked(key: str, check: Callable[[str], bool], *, expected: bool) -> PropertyTest:
    """Return a test that applies `check` to the property's text in lower case."""

    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key)
        if value is None:
            return not expected
        return check(text_of(value).lower()) is expected

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


def _matching(key: str, pattern: str, *, expected: bool) -> PropertyTest:
    matches = compile_pattern(pattern)
    if matches is None:
        return never

    def test(properties: Properties, where: object) -> bool:
        value = properties.get(key)
        if value is None:
            return not expected
        return matches(value if type(value) is str else text_of(value)) is expected

    return test


def _ranged(key: str, value: Any, *, expected: bool) -> PropertyTest:
    """Return a test for a range; values that are not numbers are neither inside nor outside."""
    ends = range_of(value)
    if ends is None:
        return never
    low, high = ends

    def test(properties: Properties, where: object) -> bool:
        property_value = properties.get(key)
        if property_value is None:
            return not expected
        number = number_of(property_value)
        return number is not None and (low <= number <= high) is expected

    return test


def _ordered(key: str, value: Any, compare: Callable[[Any, Any], bool]) -> PropertyTest:
    """Return a test that compares numbers if the bound is a number, and texts otherwise."""
    if isinstance(value, tuple | list):
        return never
    bound, text = number_of(value), text_of(value)

    def numeric(properties: Properties, where: object) -> bool:
        number = number_of(properties.get(key))
        return number is not None and compare(number, bound)

    def exact(properties: Properties, where: object) -> bool:
        property_value = properties.get(key)
        kind = type(property_value)
        if kind is int or kind is float:
            return compare(property_value, bound)
        number = number_of(property_value)
        return number is not None and compare(number, bound)

    def textual(properties: Properties, where: object) -> bool:
        property_value = properties.get(key)
        return property_value is not None and compare(text_of(property_value), text)

    if bound is None:
        return textual
    return exact if abs(bound) < EXACT_MAX else numeric


def _dated(key: str, value: Any, name: str) -> PropertyTest:
    window = date_window(name, value)
    if window is None:
        return never
    if isinstance(window, Ago):
        return _dated_relative(key, window, name)
    low, high = window
    first, last = instants(window) or (_NEVER, _NEVER)
    read = datetime.fromisoformat

    def test(properties: Properties, where: object) -> bool:
        property_value = properties.get(key)
        if type(property_value) is str and property_value[7::3] == USUAL:
            try:
                return first <= read(property_value) <= last  # takes a tenth of the time
            except ValueError:
                pass
        micros = micros_of(property_value)
        return micros is not None and low <= micros < high

    return test


def _dated_relative(key: str, ago: Ago, name: str) -> PropertyTest:
    def test(properties: Properties, where: Moment) -> bool:
        micros = micros_of(properties.get(key))
        if micros is None:
            return False
        low, high = window_before(name, ago, where.now)
        return low <= micros < high

    return test


def _versioned(key: str, value: Any, name: str) -> PropertyTest:
    """Return a test for versions; values that are not versions are neither equal nor different."""
    window = version_window(name, value)
    if window is None:
        return never
    (low, high), expected = window, name != "semver_neq"

    def test(properties: Properties, where: object) -> bool:
        property_value = properties.get(key)
        if property_value is None:
            return not expected
        version = version_key(text_of(property_value))
        return version is not None and (low <= version < high) is expected

    return test
