"""Filters as ClickHouse conditions, compared as the calculation of cohorts compares.

Every value and every key is bound, never written into the text. A condition is 0 or 1, never
null. The table that a condition is meant for has `properties` (the JSON text) and `attributes`
(the same, column by column; see events/storage/schema.py).

source: cohorts.md section 5
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from fanion.properties.filters import Property
from fanion.properties.values import NUMBER, parse_date, range_of, search, spaceless_number, text_of

# Keys that name one column of `attributes`; any other key is read from the text.
COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")
_NUMERIC_TEXT = re.compile(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?")
ORDER = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}

# source: cohorts.md section 5, "negation"; what is missing here has no opposite
OPPOSITES = {
    "exact": "is_not",
    "is_not": "exact",
    "icontains": "not_icontains",
    "not_icontains": "icontains",
    "regex": "not_regex",
    "not_regex": "regex",
    "is_set": "is_not_set",
    "is_not_set": "is_set",
    "gt": "lte",
    "lte": "gt",
    "lt": "gte",
    "gte": "lt",
    "is_date_before": "is_date_after",
    "is_date_after": "is_date_before",
    "starts_with": "not_starts_with",
    "not_starts_with": "starts_with",
    "ends_with": "not_ends_with",
    "not_ends_with": "ends_with",
    "icontains_multi": "not_icontains_multi",
    "not_icontains_multi": "icontains_multi",
    "between": "not_between",
    "not_between": "between",
}
# Those without the property match these.
NEGATIVE = frozenset(
    {
        "is_not",
        "not_icontains",
        "not_regex",
        "is_not_set",
        "not_starts_with",
        "not_ends_with",
        "not_icontains_multi",
    }
)
# Positive operators that compare the text in lower case.
TEXTS = ("starts_with", "ends_with", "icontains_multi")


class Bindings:
    """The values of one statement, each under a name of its own; equal ones share it.

    prefix: of the names; another one where two statements become one
    """

    def __init__(self, prefix: str = "v") -> None:
        self._prefix = prefix
        self.values: dict[str, Any] = {}
        self._names: dict[tuple[str, str], str] = {}

    def add(self, value: Any, kind: str) -> str:
        """kind: a ClickHouse type, or `Identifier`; returns the placeholder."""
        known = (repr(value), kind)
        name = self._names.get(known)
        if name is None:
            name = self._names[known] = f"{self._prefix}{len(self.values)}"
            self.values[name] = value
        return f"{{{name}:{kind}}}"

    def text(self, value: str) -> str:
        return self.add(value.encode("utf-8", "replace").decode(), "String")

    def texts(self, values: Sequence[str]) -> str:
        clean = [value.encode("utf-8", "replace").decode() for value in values]
        return self.add(clean, "Array(String)")

    def time(self, moment: datetime) -> str:
        """Exact to the microsecond, in years that the store can hold."""
        return f"fromUnixTimestamp64Micro({self.add(micros(moment), 'Int64')}, 'UTC')"


def property_condition(leaf: Property, bindings: Bindings, column: str = "") -> str:
    """One comparison with a property of the row.

    column: the table's name in the statement with a dot, where it needs one
    source: cohorts.md section 5; an unknown operator is `exact`
    """
    operator = leaf.operator if leaf.operator in _CONDITIONS else "exact"
    if leaf.negation:
        operator = OPPOSITES.get(operator, operator)
    prop = _CohortRowProperty(leaf.key, bindings, column)
    return _CONDITIONS[operator](prop, leaf.value, operator)


def value_condition(leaf: Property, text: str, is_there: str, bindings: Bindings) -> str:
    """One comparison with a value that is no property of the row.

    text: an expression that is not null; is_there: whether it is the text of a value
    """
    operator = leaf.operator if leaf.operator in _CONDITIONS else "exact"
    if leaf.negation:
        operator = OPPOSITES.get(operator, operator)
    value = _Value(text, is_there, is_there, bindings)
    return _CONDITIONS[operator](value, leaf.value, operator)


@dataclass(frozen=True, slots=True)
class _Value:
    """What is compared, as expressions."""

    text: str
    is_there: str
    is_set: str
    bindings: Bindings


class _CohortRowProperty:
    """The property of the row: whether it is there, and its text."""

    def __init__(self, key: str, bindings: Bindings, table: str) -> None:
        self.bindings = bindings
        if COLUMN.fullmatch(key):
            name = bindings.add(key.replace(".", "%2E"), "Identifier")
            column = f"{table}attributes.{name}"
            # The engine's own text of a list is no JSON. Only what begins like one is converted.
            self.text = (
                f"if(startsWith(toString({column}), '[') AND dynamicType({column}) != 'String', "
                f"toJSONString({column}), toString({column}))"
            )
            self.is_there = f"isNotNull({column})"
            # An object has columns below it, but none of its own.
            below = bindings.text(f"^`{key.replace('.', '%2E')}`")
            inner = f"toString(getSubcolumn({table}attributes, {below}))"
            self.is_set = f"({self.is_there} OR {inner} != '{{}}')"
        else:
            bound = bindings.text(key)
            place = f"{table}properties, {bound}"
            self.text = (
                f"if(JSONType({place}) = 'String', JSONExtractString({place}), "
                f"JSONExtractRaw({place}))"
            )
            self.is_there = f"JSONType({place}) != 'Null'"
            self.is_set = self.is_there


_NEVER = "0"
_Compared = _CohortRowProperty | _Value
_Condition = Callable[[_Compared, Any, str], str]


def _exact(prop: _Compared, value: Any, operator: str) -> str:
    wanted = prop.bindings.texts(_wanted(value))
    found = f"{prop.is_there} AND {prop.text} IN {wanted}"
    return f"NOT ({found})" if operator in NEGATIVE else f"({found})"


def _contains(prop: _Compared, value: Any, operator: str) -> str:
    part = prop.bindings.text(_text(value).lower())
    found = f"{prop.is_there} AND position(lowerUTF8({prop.text}), {part}) > 0"
    return f"NOT ({found})" if operator in NEGATIVE else f"({found})"


def _matches(prop: _Compared, value: Any, operator: str) -> str:
    pattern = _text(value)
    if search(pattern) is None:
        return _NEVER
    bound = prop.bindings.text(f"(?-s){pattern}")
    found = f"{prop.is_there} AND match({prop.text}, {bound})"
    return f"NOT ({found})" if operator in NEGATIVE else f"({found})"


def _text_compared(prop: _Compared, value: Any, operator: str) -> str:
    several = operator.endswith("_multi") and isinstance(value, tuple | list)
    parts = [_text(part).lower() for part in (value if several else (value,))]
    found = text_condition(operator, f"lowerUTF8({prop.text})", parts, prop.bindings)
    found = f"{prop.is_there} AND {found}"
    return f"NOT ({found})" if operator in NEGATIVE else f"({found})"


def text_condition(operator: str, text: str, parts: Sequence[str], bindings: Bindings) -> str:
    """The comparison of one of TEXTS, or of its opposite. text, parts: in lower case"""
    positive = operator.removeprefix("not_")
    if positive == "starts_with":
        return f"startsWith({text}, {bindings.text(parts[0])})"
    if positive == "ends_with":
        return f"endsWith({text}, {bindings.text(parts[0])})"
    found = f"ifNull(position({text}, part) > 0, 0)"
    return f"arrayExists(part -> {found}, {bindings.texts(parts)})"


def _in_range(prop: _Compared, value: Any, operator: str) -> str:
    return range_condition(operator, prop.text, value, prop.bindings)


def range_condition(operator: str, text: str, value: Any, bindings: Bindings) -> str:
    """What is no number is neither inside a range nor outside of it."""
    ends = range_of(value)
    if ends is None:
        return _NEVER
    low, high = (bindings.add(end, "Float64") for end in ends)
    inside = "BETWEEN" if operator == "between" else "NOT BETWEEN"
    test = f"ifNull(isFinite(number) AND number {inside} {low} AND {high}, 0)"
    number = f"toFloat64OrNull(extract({text}, {bindings.text(f'^({NUMBER})$')}))"
    return f"arrayExists(number -> {test}, [{number}])"


def _is_set(prop: _Compared, value: Any, operator: str) -> str:
    return f"NOT {prop.is_set}" if operator in NEGATIVE else prop.is_set


def _ordered(prop: _Compared, value: Any, operator: str) -> str:
    number = spaceless_number(value)
    if number is None:
        return _NEVER
    bound = prop.bindings.add(number, "Float64")
    own = f"toFloat64OrNull(replaceAll({prop.text}, ' ', ''))"
    return f"ifNull({own} {ORDER[operator]} {bound}, 0)"


def _dated(prop: _Compared, value: Any, operator: str) -> str:
    bound = parse_date(value) if isinstance(value, str) else None
    if bound is None or not isinstance(value, str):
        return _NEVER
    has_time = ":" in value
    date, bind = date_of(prop.text), prop.bindings.time
    if operator == "is_date_before":
        return f"ifNull({date} < {bind(bound)}, 0)"
    end = _later(bound, timedelta(seconds=1) if has_time else timedelta(days=1))
    if operator == "is_date_exact":
        start = bound.replace(microsecond=0)
        return f"ifNull({date} >= {bind(start)} AND {date} < {bind(_whole(end, has_time))}, 0)"
    if has_time:
        return f"ifNull({date} > {bind(bound)}, 0)"
    return f"ifNull({date} >= {bind(end)}, 0)"


_CONDITIONS: dict[str, _Condition] = {
    **dict.fromkeys(("exact", "is_not"), _exact),
    **dict.fromkeys(("icontains", "not_icontains"), _contains),
    **dict.fromkeys(("regex", "not_regex"), _matches),
    **dict.fromkeys(("is_set", "is_not_set"), _is_set),
    **dict.fromkeys(ORDER, _ordered),
    **dict.fromkeys(("is_date_before", "is_date_after", "is_date_exact"), _dated),
    **dict.fromkeys(TEXTS, _text_compared),
    **dict.fromkeys((OPPOSITES[positive] for positive in TEXTS), _text_compared),
    **dict.fromkeys(("between", "not_between"), _in_range),
}

OPERATORS = frozenset(_CONDITIONS)


def date_of(text: str, *, month_first: bool = False) -> str:
    """The engine takes short numbers for days of this month; a date names its year in full.

    month_first: whether `01-04-2021` is in January
    """
    readable = f"match({text}, '[0-9]{{4}}') AND NOT match({text}, '^[-+]?[0-9.]{{1,9}}$')"
    eight = f"match({text}, '^[0-9]{{8}}$')"
    order = "US" if month_first else ""
    parsed = f"parseDateTime64BestEffort{order}OrNull({text}, 6, 'UTC')"
    return f"if(({readable}) OR {eight}, {parsed}, NULL)"


def _wanted(value: Any) -> list[str]:
    members = value if isinstance(value, tuple | list) else (value,)
    wanted: dict[str, None] = {}
    for member in members:
        text = _text(member)
        wanted.update(dict.fromkeys((text, *_other_notations(text))))
    return list(wanted)


def _other_notations(text: str) -> list[str]:
    """The same number as the store writes it: `5` for 5.0, `1e21` for a 1 with 21 zeros."""
    if not _NUMERIC_TEXT.fullmatch(text):
        return []
    try:
        number = float(text)
    except ValueError:
        return []
    written = repr(number).replace("e+", "e").replace("e-0", "e-").removesuffix(".0")
    return [written] if text_of(number).removesuffix(".0") == text.removesuffix(".0") else []


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of(value).removesuffix(".0")
    return text_of(value)


def _later(moment: datetime, span: timedelta) -> datetime:
    try:
        return moment + span
    except OverflowError:
        return moment


def _whole(moment: datetime, has_time: bool) -> datetime:
    return moment.replace(microsecond=0) if has_time else moment


# What the store's times hold: the years 1900 to 2299.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_MICROS_MIN = (datetime(1900, 1, 1, tzinfo=UTC) - _EPOCH) // MICROSECOND
_MICROS_MAX = (datetime(2299, 12, 31, tzinfo=UTC) - _EPOCH) // MICROSECOND


def micros(moment: datetime) -> int:
    """Since 1970, moved into the years that the store holds. moment: aware"""
    return min(max((moment - _EPOCH) // MICROSECOND, _MICROS_MIN), _MICROS_MAX)
