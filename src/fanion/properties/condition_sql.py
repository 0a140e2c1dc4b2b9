"""Filters as ClickHouse conditions: the equivalent of `match` for the event store.

Every value and every key is bound, never written into the text. A condition is 0 or 1, never null.
It reads the columns of `attributes`, which is fast, and the JSON text `properties` only where the
columns cannot tell: for null, objects, lists that contain objects, and keys without a column.

Source: tests/cases/filters.json, the table for both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Final

from fanion.properties.bindings import COLUMN, NO_COLUMNS, Bindings, DedicatedColumns
from fanion.properties.dates import (
    DATE,
    MILLISECONDS_MIN,
    UNIX,
    UNIX_MAX,
    date_window,
    window_before,
)
from fanion.properties.filters import Property
from fanion.properties.match import DATES, VERSIONS, equal_texts, property_test
from fanion.properties.values import Ago, compile_pattern, number_of, range_of, text_of
from fanion.properties.versions import DIGITS_MAX, END, NUMERIC, RELEASED, VERSION, WORD
from fanion.properties.versions import version_window as window_of_versions

ORDER: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_NEVER: Final = "0"
# The engine's types of columns that hold objects.
_WITH_OBJECTS: Final = ("Array(JSON)", "Array(Dynamic)")
# Whether any row has an object under the key. This is computed once per statement, which is then
# planned without the JSON text. It takes 5 ms if none of a million rows has one.
_ANY_OBJECT: Final = "(SELECT count() > 0 FROM (SELECT 1 FROM {rows} AND ({checks}) LIMIT 1))"


def property_condition(
    leaf: Property,
    bindings: Bindings,
    now: datetime,
    *,
    events_of: str = "",
    columns: DedicatedColumns = NO_COLUMNS,
) -> str:
    """Return a comparison with a property of the row. An unknown operator never matches.

    Args:
        leaf: The condition.
        bindings: Those of the statement.
        now: Relative dates count back from it.
        events_of: For rows of `events`, the condition on their project. The columns of all its
            events are asked whether the JSON text must be read.
        columns: For rows of `events`, the properties with a dedicated column.
    """
    return _condition(leaf, _row_property(leaf, bindings, events_of, columns), now)


def value_condition(leaf: Property, text: str, bindings: Bindings, now: datetime) -> str:
    """Return a comparison with a value that is not a property of the row.

    Args:
        leaf: The condition.
        text: An expression that is not null; it is empty if there is no value.
        bindings: Those of the statement.
        now: Relative dates count back from it.
    """
    return _condition(leaf, _Compared(f"nullIf({text}, '')", f"{text} != ''", bindings), now)


def holds_without(leaf: Property) -> bool:
    """Return whether the condition holds if the property is missing."""
    return _holds(leaf, {})


@dataclass(frozen=True, slots=True)
class _Compared:
    """The expressions that a condition compares.

    Attributes:
        text: Null if there is nothing to compare.
        check: Ends the statement where `text` may be wrong; empty if it never is.
    """

    text: str
    is_set: str
    bindings: Bindings
    check: str = ""


def _holds(leaf: Property, properties: dict[str, Any]) -> bool:
    return property_test(leaf)(properties, SimpleNamespace(now=_ANY_TIME))


# Any time will do: whether a missing value or an object is a date does not depend on it.
_ANY_TIME: Final = datetime.fromisoformat("2000-01-01T00:00:00+00:00")


def _condition(leaf: Property, compared: _Compared, now: datetime) -> str:
    compare = _CONDITIONS.get(leaf.operator)
    condition = _NEVER if compare is None else compare(compared, leaf, now)
    condition = f"(NOT ({condition}))" if leaf.negation else f"({condition})"
    return f"if({compared.check}, 0, {condition})" if compared.check else condition


def _row_property(
    leaf: Property, bindings: Bindings, events_of: str, columns: DedicatedColumns
) -> _Compared:
    key = leaf.key
    json_args = f"properties, {bindings.text(key)}"
    kind = f"JSONType({json_args})"
    if not COLUMN.fullmatch(key):
        stored = (
            f"multiIf({kind} = 'String', JSONExtractString({json_args}), {kind} = 'Null', NULL, "
        )
        return _Compared(f"{stored}JSONExtractRaw({json_args}))", f"JSONHas({json_args})", bindings)
    column = f"attributes.{bindings.add(key.replace('.', '%2E'), 'Identifier')}"
    # Such a key is never escaped, so a search for it saves parsing the JSON of most rows.
    is_written = f"position(properties, {bindings.text(_quoted(key))}) > 0"
    own = columns.checked(key)
    is_set = f"(isNotNull({own[0] if own else column}) OR ({is_written} AND JSONHas({json_args})))"
    if own is not None:
        return _Compared(own[0], is_set, bindings, own[1])
    if _compares_scalars(leaf):
        return _Compared(f"toString({column})", is_set, bindings)
    text = _text_of_row(column, json_args, is_written, _reads_objects(leaf, bindings, events_of))
    return _Compared(text, is_set, bindings)


def _compares_scalars(leaf: Property) -> bool:
    """Return whether neither a list nor a missing value can match, however its text is written.

    The engine's text of a list begins with a bracket, and that of a missing value is empty.
    """
    if leaf.operator in ("exact", "is_not"):
        return all(text[:1] not in ("", "[", "{") for text in equal_texts(leaf.value))
    return leaf.operator in ORDER and number_of(leaf.value) is not None


def event_text(key: str, bindings: Bindings, columns: DedicatedColumns) -> str:
    """Return a property of a row of `events` as text, empty when it is null or absent."""
    if COLUMN.fullmatch(key):
        own = columns.plain_text(key)
        if own is not None:
            return own
        name = bindings.add(key.replace(".", "%2E"), "Identifier")
        return f"ifNull(toString(attributes.{name}), '')"
    path = f"properties, {bindings.text(key)}"
    return (
        f"multiIf(JSONType({path}) = 'Null', '', JSONType({path}) = 'String', "
        f"JSONExtractString({path}), JSONExtractRaw({path}))"
    )


def row_text(
    key: str, bindings: Bindings, rows: str, columns: DedicatedColumns = NO_COLUMNS
) -> str:
    """Return a property of a row as text, null if it is null or missing.

    Lists and objects become JSON.

    Args:
        key: The name of the property.
        bindings: Those of the statement.
        rows: What follows FROM: the rows that the statement reads.
        columns: For rows of `events`, the properties with a dedicated column.
    """
    if not COLUMN.fullmatch(key):
        return path_text("properties", [key], bindings)
    own = columns.text(key)
    if own is not None:
        return own
    column = f"attributes.{bindings.add(key.replace('.', '%2E'), 'Identifier')}"
    json_args = f"properties, {bindings.text(key)}"
    is_written = f"position(properties, {bindings.text(_quoted(key))}) > 0"
    return _text_of_row(column, json_args, is_written, _any_object(key, bindings, rows))


def path_text(json: str, keys: Sequence[str], bindings: Bindings) -> str:
    """Return the value at a path in a JSON text as text, null if it is null or missing.

    Args:
        json: An expression.
        keys: The names of the path, of which there is at least one.
        bindings: Those of the statement.
    """
    path = ", ".join([json, *map(bindings.text, keys)])
    return (
        f"multiIf(JSONType({path}) = 'Null', NULL, JSONType({path}) = 'String', "
        f"JSONExtractString({path}), JSONExtractRaw({path}))"
    )


def shown_text(
    key: str, bindings: Bindings, rows: str, columns: DedicatedColumns = NO_COLUMNS
) -> str:
    """Return a property of a row as conditions compare it, empty if there is no value.

    If no row has a non-empty object under the key, an empty object counts as no value.

    Args:
        key: A key that has a column.
        bindings: Those of the statement.
        rows: What follows FROM: the rows that the statement reads.
        columns: For rows of `events`, the properties with a dedicated column.
    """
    own = columns.text(key)
    if own is not None:
        return f"ifNull({own}, '')"
    column = f"attributes.{bindings.add(key.replace('.', '%2E'), 'Identifier')}"
    json_args = f"properties, {bindings.text(key)}"
    is_written = f"position(properties, {bindings.text(_quoted(key))}) > 0"
    reads = _any_object(key, bindings, rows)
    return f"ifNull({_text_of_row(column, json_args, is_written, reads, is_null_shown=False)}, '')"


def _text_of_row(
    column: str, json_args: str, is_written: str, reads: str, *, is_null_shown: bool = True
) -> str:
    """Return the text of a property of the row.

    Args:
        is_null_shown: Whether a missing value must be null; it may be empty otherwise.
        reads: Whether objects, and lists that contain objects, are read from the JSON text, as
            returned by `_reads_objects`.
    """
    is_list = f"startsWith(toString({column}), '[') AND dynamicType({column}) != 'String'"
    # The engine returns an empty text for a column without a value.
    own = f"if({is_list}, toJSONString({column}), toString({column}))"
    by_columns = f"if(isNull({column}), NULL, {own})" if is_null_shown else own
    raw = f"nullIf(JSONExtractRaw({json_args}), 'null')"
    by_text = (
        f"multiIf({is_list}, {raw}, isNotNull({column}), toString({column}), "
        f"{is_written}, nullIf({raw}, ''), NULL)"
    )
    if reads == "0":
        return by_columns
    return by_text if reads == "1" else f"if({reads}, {by_text}, {by_columns})"


def _quoted(key: str) -> str:
    return f'"{key}"'


def _reads_objects(leaf: Property, bindings: Bindings, events_of: str) -> str:
    """Return whether objects, and lists that contain objects, must be read from the JSON text.

    Returns:
        `0`, `1`, or an expression that is the same for all rows.
    """
    missing = holds_without(leaf)
    empties: list[Any] = [{}, [{}]]
    answers_empty = any(_holds(leaf, {leaf.key: empty}) is not missing for empty in empties)
    if not answers_empty and not _may_match_objects(leaf):
        return "0"
    if answers_empty or not events_of:
        return "1"
    return _any_object(leaf.key, bindings, f"events WHERE {events_of}")


def _may_match_objects(leaf: Property) -> bool:
    """Return whether the text of an object can matter: it begins and ends with a brace."""
    name = leaf.operator.removeprefix("not_")
    texts = [text_of(part) for part in _parts(leaf.value)]
    if name in ("exact", "is_not"):
        return any(text[:1] in ("{", "[") for text in texts)
    if name == "starts_with":
        return text_of(leaf.value)[:1] in ("{", "[", "")
    if name == "ends_with":
        return text_of(leaf.value)[-1:] in ("}", "]", "")
    if name in ORDER:
        return number_of(leaf.value) is None
    return name not in (*DATES, *VERSIONS, "between")


def _any_object(key: str, bindings: Bindings, rows: str) -> str:
    path = f"`{key.replace('.', '%2E')}`"
    inside = bindings.text(f"^{path}")
    checks = [f"toString(getSubcolumn(attributes, {inside})) != '{{}}'"]
    for kind in _WITH_OBJECTS:
        column = f"getSubcolumn(attributes, {bindings.text(f'{path}.:`{kind}`')})"
        nested = f"getSubcolumn(attributes, {bindings.text(f'{path}.:`Array({kind})`')})"
        checks += [f"notEmpty({column})", f"notEmpty({nested})"]
    return _ANY_OBJECT.format(rows=rows, checks=" OR ".join(checks))


_Condition = Callable[[_Compared, Property, datetime], str]


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple | list) else (value,)


def _signed(condition: str, leaf: Property) -> str:
    """Return the condition, or its opposite, which also holds if there is no value."""
    positive = f"ifNull({condition}, 0)"
    return f"NOT {positive}" if leaf.operator in NEGATIVE else positive


def _opposed(compared: _Compared, is_value: str, is_inside: str, leaf: Property) -> str:
    """Return a condition, or its opposite, which holds for values of a kind and without one."""
    if leaf.operator not in NEGATIVE:
        return f"ifNull({is_value} AND {is_inside}, 0)"
    return f"(isNull({compared.text}) OR ifNull({is_value} AND NOT ({is_inside}), 0))"


def _exact(compared: _Compared, leaf: Property, now: datetime) -> str:
    texts = compared.bindings.texts(sorted(equal_texts(leaf.value)))
    return _signed(f"lowerUTF8({compared.text}) IN {texts}", leaf)


def _contains(compared: _Compared, leaf: Property, now: datetime) -> str:
    part = compared.bindings.text(text_of(leaf.value).lower())
    return _signed(f"position(lowerUTF8({compared.text}), {part}) > 0", leaf)


def _contains_any(compared: _Compared, leaf: Property, now: datetime) -> str:
    parts = compared.bindings.texts([text_of(part).lower() for part in _parts(leaf.value)])
    contains = f"ifNull(position(lowerUTF8({compared.text}), part) > 0, 0)"
    return _signed(f"arrayExists(part -> {contains}, {parts})", leaf)


def _starts(compared: _Compared, leaf: Property, now: datetime) -> str:
    part = compared.bindings.text(text_of(leaf.value).lower())
    return _signed(f"startsWith(lowerUTF8({compared.text}), {part})", leaf)


def _ends(compared: _Compared, leaf: Property, now: datetime) -> str:
    part = compared.bindings.text(text_of(leaf.value).lower())
    return _signed(f"endsWith(lowerUTF8({compared.text}), {part})", leaf)


def _matches(compared: _Compared, leaf: Property, now: datetime) -> str:
    pattern = text_of(leaf.value)
    if compile_pattern(pattern) is None:
        return _NEVER
    return _signed(f"match({compared.text}, {compared.bindings.text(f'(?-s){pattern}')})", leaf)


def _is_set(compared: _Compared, leaf: Property, now: datetime) -> str:
    return _signed(compared.is_set, leaf)


def number_sql(text: str) -> str:
    """Return an expression for the number that a text writes; null where `number_of` is None."""
    number = f"toFloat64OrNull(replaceAll({text}, ' ', ''))"
    return f"if(isFinite({number}), {number}, NULL)"


def _ordered(compared: _Compared, leaf: Property, now: datetime) -> str:
    value, order, bindings = leaf.value, ORDER[leaf.operator], compared.bindings
    if isinstance(value, tuple | list):
        return _NEVER
    bound = number_of(value)
    if bound is None:
        return f"ifNull({compared.text} {order} {bindings.text(text_of(value))}, 0)"
    return f"ifNull({number_sql(compared.text)} {order} {bindings.add(bound, 'Float64')}, 0)"


def _in_range(compared: _Compared, leaf: Property, now: datetime) -> str:
    ends = range_of(leaf.value)
    if ends is None:
        return _NEVER
    low, high = (compared.bindings.add(end, "Float64") for end in ends)
    number = number_sql(compared.text)
    inside = f"{number} BETWEEN {low} AND {high}"
    return _opposed(compared, f"isNotNull({number})", inside, leaf)


def _dated(compared: _Compared, leaf: Property, now: datetime) -> str:
    window = date_window(leaf.operator, leaf.value)
    if isinstance(window, Ago):
        window = window_before(leaf.operator, window, now)
    if window is None:
        return _NEVER
    low, high = (compared.bindings.add(end, "Int64") for end in window)
    micros = _micros_sql(compared)
    return f"ifNull({micros} >= {low} AND {micros} < {high}, 0)"


def _micros_sql(compared: _Compared) -> str:
    """Return the time in a text, like `micros_of`."""
    text = f"trimBoth({compared.text})"
    unix, date = compared.bindings.text(UNIX), compared.bindings.text(DATE)
    number = f"toFloat64OrZero({text})"
    seconds, milliseconds = f"toInt64({number} * 1e6)", f"toInt64({number} * 1e3)"
    return (
        f"multiIf(match({text}, {unix}), multiIf(abs({number}) >= {UNIX_MAX}, NULL, "
        f"abs({number}) < {MILLISECONDS_MIN}, {seconds}, {milliseconds}), match({text}, {date}), "
        f"toUnixTimestamp64Micro(parseDateTime64BestEffortOrNull({text}, 6, 'UTC')), NULL)"
    )


def _versioned(compared: _Compared, leaf: Property, now: datetime) -> str:
    window = window_of_versions(leaf.operator, leaf.value)
    if window is None:
        return _NEVER
    low, high = map(compared.bindings.text, window)
    inside = f"version >= {low} AND version < {high}"
    is_match = f"NOT ({inside})" if leaf.operator in NEGATIVE else f"{inside}"
    key = _version_sql(compared.text, compared.bindings)
    exists = f"arrayExists(version -> version != '' AND {is_match}, [{key}])"
    return f"(isNull({compared.text}) OR {exists})" if leaf.operator in NEGATIVE else exists


def _version_sql(text: str, bindings: Bindings) -> str:
    """Return the key of the version in a text, like `version_key`; empty if there is none."""
    groups = f"extractGroups(ifNull({text}, ''), {bindings.text(VERSION)})"
    core = ", ".join(f"leftPad(groups[{part}], {DIGITS_MAX}, '0')" for part in (1, 2, 3))
    number = f"concat('{NUMERIC}', leftPad(part, {DIGITS_MAX}, '0'))"
    part = f"concat(if(match(part, '^[0-9]+$'), {number}, concat('{WORD}', part)), '{END}')"
    parts = f"arrayStringConcat(arrayMap(part -> {part}, splitByChar('.', groups[4])))"
    key = f"concat({core}, if(groups[4] = '', '{RELEASED}', {parts}))"
    return f"arrayMap(groups -> if(empty(groups), '', {key}), [{groups}])[1]"


_CONDITIONS: dict[str, _Condition] = {
    **dict.fromkeys(("exact", "is_not"), _exact),
    **dict.fromkeys(("icontains", "not_icontains"), _contains),
    **dict.fromkeys(("icontains_multi", "not_icontains_multi"), _contains_any),
    **dict.fromkeys(("starts_with", "not_starts_with"), _starts),
    **dict.fromkeys(("ends_with", "not_ends_with"), _ends),
    **dict.fromkeys(("regex", "not_regex"), _matches),
    **dict.fromkeys(("is_set", "is_not_set"), _is_set),
    **dict.fromkeys(ORDER, _ordered),
    **dict.fromkeys(("between", "not_between"), _in_range),
    **dict.fromkeys(DATES, _dated),
    **dict.fromkeys(VERSIONS, _versioned),
}
OPERATORS: Final = frozenset(_CONDITIONS)
# Operators that rows without a value match.
NEGATIVE: Final = frozenset(
    name for name in OPERATORS if name.startswith("not_") or name in ("is_not", "is_not_set")
) | {"semver_neq"}
