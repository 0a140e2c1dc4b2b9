"""Filters as ClickHouse conditions, compared as flags compare: `match` in SQL.

Every value and every key is bound, never written into the text. A condition is 0 or 1, never
null. Columns that hold text, numbers and booleans are read; what they do not distinguish (null,
objects, rows without columns) is read from the JSON text of the row.

source: flags.md section 5; the column `matches` of tests/cases/filters.json
"""

from collections.abc import Callable
from datetime import datetime
from math import isnan

from fanion.properties.cohort_sql import (
    COLUMN,
    NEGATIVE,
    OPPOSITES,
    ORDER,
    TEXTS,
    Bindings,
    date_of,
    range_condition,
    text_condition,
)
from fanion.properties.filters import Property
from fanion.properties.match import wanted_texts
from fanion.properties.values import Ago, number_of, parse_date_value, search, text_of

_NEVER = "0"
_INSTANT = {"is_date_before": "<", "is_date_after": ">", "is_date_exact": "="}


def flag_condition(leaf: Property, bindings: Bindings, now: datetime) -> str:
    """One comparison with a property of a person. An unknown operator never matches.

    now: relative dates count back from it
    """
    compare = _CONDITIONS.get(leaf.operator)
    if compare is None:
        return "1" if leaf.negation else _NEVER
    condition = compare(_FlagRowProperty(leaf.key, bindings), leaf, now)
    return f"(NOT ({condition}))" if leaf.negation else f"({condition})"


class _FlagRowProperty:
    """The property of the row. text: null when the row lacks it"""

    def __init__(self, key: str, bindings: Bindings) -> None:
        self.bindings = bindings
        self._place = f"properties, {bindings.text(key)}"
        self._column, self._is_written = "", ""
        if COLUMN.fullmatch(key):
            self._column = f"attributes.{bindings.add(key.replace('.', '%2E'), 'Identifier')}"
            # Such a key is never escaped: looking for it spares most rows the reading of JSON.
            quoted = bindings.text(f'"{key}"')
            self._is_written = f"position(properties, {quoted}) > 0"

    @property
    def text(self) -> str:
        place = self._place
        return self._by_kind(
            lambda value: value,
            lambda value: f"toString({value})",
            _float_text,
            lambda value: f"if({value}, 'True', 'False')",
            f"if(JSONHas({place}), if(JSONType({place}) = 'Null', 'None', "
            f"JSONExtractRaw({place})), NULL)",
        )

    @property
    def is_there(self) -> str:
        has = f"JSONHas({self._place})"
        if not self._column:
            return has
        return f"(isNotNull({self._column}) OR ({self._is_written} AND {has}))"

    @property
    def string(self) -> str:
        """Null for anything but text."""
        nothing = "NULL"
        return self._by_kind(lambda value: value, *(lambda _: nothing,) * 3, nothing)

    def compared(self, order: str, number: str, text: str, null: str) -> str:
        """Numbers as numbers, text as text; lists and objects never.

        number, text: bound; null: the answer for null
        """
        as_number: Callable[[str], str] = lambda value: f"{value} {order} {number}"  # noqa: E731
        place = self._place
        return self._by_kind(
            lambda value: f"{value} {order} {text}",
            as_number,
            as_number,
            lambda value: f"toUInt8({value}) {order} {number}",
            f"JSONHas({place}) AND JSONType({place}) = 'Null' AND {null}",
        )

    def _by_kind(
        self,
        string: Callable[[str], str],
        whole: Callable[[str], str],
        double: Callable[[str], str],
        boolean: Callable[[str], str],
        other: str,
    ) -> str:
        """What is made of a value, by its kind."""
        place = self._place
        kind = f"JSONType({place})"
        found = (
            f"multiIf({kind} = 'String', {string(f'JSONExtractString({place})')}, "
            f"{kind} = 'Int64', {whole(f'JSONExtractInt({place})')}, "
            f"{kind} = 'UInt64', {whole(f'JSONExtractUInt({place})')}, "
            f"{kind} = 'Double', {double(f'JSONExtractFloat({place})')}, "
            f"{kind} = 'Bool', {boolean(f'JSONExtractBool({place})')}, {other})"
        )
        if not self._column:
            return found

        def element(name: str) -> str:
            return f"assumeNotNull(dynamicElement({self._column}, '{name}'))"

        kind = f"dynamicType({self._column})"
        return (
            f"multiIf({kind} = 'String', {string(element('String'))}, "
            f"{kind} = 'Int64', {whole(element('Int64'))}, "
            f"{kind} = 'Float64', {double(element('Float64'))}, "
            f"{kind} = 'Bool', {boolean(element('Bool'))}, {self._is_written}, {found}, NULL)"
        )


_Condition = Callable[[_FlagRowProperty, Property, datetime], str]


def _exact(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    wanted = prop.bindings.texts(sorted(wanted_texts(leaf.value)))
    return _signed(f"lowerUTF8({prop.text}) IN {wanted}", leaf)


def _contains(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    part = prop.bindings.text(text_of(leaf.value).lower())
    return _signed(f"position(lowerUTF8({prop.text}), {part}) > 0", leaf)


def _text_compared(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    several = leaf.operator.endswith("_multi") and isinstance(leaf.value, tuple | list)
    parts = [text_of(part).lower() for part in (leaf.value if several else (leaf.value,))]
    text = f"lowerUTF8({prop.text})"
    return _signed(text_condition(leaf.operator, text, parts, prop.bindings), leaf)


def _in_range(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    return range_condition(leaf.operator, prop.text, leaf.value, prop.bindings)


def _matches(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    pattern = text_of(leaf.value)
    if search(pattern) is None:
        return _NEVER
    return _signed(f"match({prop.text}, {prop.bindings.text(f'(?-s){pattern}')})", leaf)


def _is_set(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    return _signed(prop.is_there, leaf)


def _ordered(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    value, order = leaf.value, ORDER[leaf.operator]
    if isinstance(value, tuple | list):
        return _NEVER
    number, text = number_of(value), prop.bindings.text(text_of(value))
    if number is None:
        return f"ifNull({prop.text} {order} {text}, 0)"
    # Nothing is less or more than what is no number, in Python as here.
    bound = "nan" if isnan(number) else prop.bindings.add(number, "Float64")
    found = prop.compared(order, bound, text, null=f"'None' {order} {text}")
    return f"ifNull({found}, 0)"


def _dated(prop: _FlagRowProperty, leaf: Property, now: datetime) -> str:
    bound = parse_date_value(leaf.value)
    if bound is None:
        return _NEVER
    date = bound.before(now) if isinstance(bound, Ago) else bound
    string = f"ifNull({prop.string}, '')"
    own = date_of(string, month_first=True)
    # Other digits alone are a Unix time or an id, which flags do not take for a date.
    is_date = f"NOT (match({string}, '^[ ]*[0-9]+[ ]*$') AND length({string}) NOT IN (8, 14))"
    return f"{is_date} AND ifNull({own} {_INSTANT[leaf.operator]} {prop.bindings.time(date)}, 0)"


_CONDITIONS: dict[str, _Condition] = {
    **dict.fromkeys(("exact", "is_not"), _exact),
    **dict.fromkeys(("icontains", "not_icontains"), _contains),
    **dict.fromkeys(("regex", "not_regex"), _matches),
    **dict.fromkeys(("is_set", "is_not_set"), _is_set),
    **dict.fromkeys(ORDER, _ordered),
    **dict.fromkeys(_INSTANT, _dated),
    **dict.fromkeys(TEXTS, _text_compared),
    **dict.fromkeys((OPPOSITES[positive] for positive in TEXTS), _text_compared),
    **dict.fromkeys(("between", "not_between"), _in_range),
}


def _signed(found: str, leaf: Property) -> str:
    """Of a row without the property the opposite holds."""
    return f"NOT ifNull({found}, 0)" if leaf.operator in NEGATIVE else f"ifNull({found}, 0)"


def _float_text(value: str) -> str:
    """5.0 is `5.0`; from 1e16 on the engine and Python both leave the point away."""
    text = f"toString({value})"
    return f"if(match({text}, '^-?[0-9]+$') AND abs({value}) < 1e16, concat({text}, '.0'), {text})"
