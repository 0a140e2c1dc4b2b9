"""Bound values of a statement for the event store, and columns of properties that it may read.

No value is written into the statement's text.

A property of events that questions use often has a dedicated column, with the text that conditions
and breakdowns compare: null for a property that is null or missing, and NESTED for a list or an
object, which has no single text. A statement that meets NESTED ends with an error that names the
property, and is calculated again without the column, so an answer never depends on columns.

Source: docs/decisions/0027-property-columns.md.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

# Keys with their own column in `attributes`; other keys are read from the JSON text.
COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")

# A change of what a column holds needs another prefix: columns with any other are removed.
PREFIX: Final = "property_1_"
NESTED: Final = r"'\0'"
# Errors of `throwIf` have codes from here on; the engine's own codes are below 10,000.
_CODES_FROM: Final = 100_000

# The store can hold times of the years 1900 to 2299.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_MICROS_MIN = (datetime(1900, 1, 1, tzinfo=UTC) - _EPOCH) // MICROSECOND
_MICROS_MAX = (datetime(2299, 12, 31, tzinfo=UTC) - _EPOCH) // MICROSECOND


class Bindings:
    """The bound values of one statement, in which equal values share a name."""

    def __init__(self, prefix: str = "v") -> None:
        """Create empty bindings.

        Args:
            prefix: The prefix of the names; it must differ if two statements are combined into one.
        """
        self._prefix = prefix
        self.values: dict[str, Any] = {}
        self._names: dict[tuple[str, str], str] = {}

    def add(self, value: Any, kind: str) -> str:
        """Bind a value and return its placeholder.

        Args:
            kind: A ClickHouse type, or `Identifier`.
        """
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
        """Bind a time to the microsecond, moved into the years that the store can hold."""
        return f"fromUnixTimestamp64Micro({self.add(micros(moment), 'Int64')}, 'UTC')"


def micros(moment: datetime) -> int:
    """Return an aware time as microseconds since 1970, moved into the years the store can hold."""
    return min(max((moment - _EPOCH) // MICROSECOND, _MICROS_MIN), _MICROS_MAX)


def column_of(key: str) -> str:
    """Return the name of a property's column. It needs no quotes, whatever the property's name."""
    return PREFIX + _digest(key).hex()[:24]


def code_of(key: str) -> int:
    """Return the code of the error by which a statement ends that meets NESTED."""
    return _CODES_FROM + int.from_bytes(_digest(key)[:3])


def is_nested_code(code: int) -> bool:
    """Return whether an error means that a statement has met NESTED."""
    return code >= _CODES_FROM


def _digest(key: str) -> bytes:
    return sha256(key.encode("utf-8", "replace")).digest()


def stored_text(key: str) -> str:
    """Return the expression by which the engine fills the column of a property.

    Args:
        key: A key that matches COLUMN, and so needs no escapes.
    """
    assert COLUMN.fullmatch(key)
    column = f"attributes.`{key.replace('.', '%2E')}`"
    is_object = (
        f"position(properties, '\"{key}\"') > 0 AND JSONType(properties, '{key}') = 'Object'"
    )
    is_list = f"startsWith(toString({column}), '[') AND dynamicType({column}) != 'String'"
    return (
        f"multiIf(isNull({column}), if({is_object}, {NESTED}, NULL), "
        f"({is_list}) OR toString({column}) = {NESTED}, {NESTED}, toString({column}))"
    )


def _ignore(key: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class DedicatedColumns:
    """The columns that the statements of one question may read.

    Attributes:
        keys: The properties with a column.
        note: Called with each property that a statement reads, with or without a column.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    note: Callable[[str], None] = _ignore

    def checked(self, key: str) -> tuple[str, str] | None:
        """Return the column of an event's property, and the check that guarantees it is correct.

        Expressions on the column must be the last argument of an `if` on the check, so that no row
        is dropped before it is checked. Put the whole expression inside: the engine evaluates it on
        the distinct values of the column, but an `if` returns plain text.

        Returns:
            None if the property has no column.
        """
        self.note(key)
        column = self.keys.get(key)
        if column is None:
            return None
        return column, f"throwIf({column} = {NESTED}, 'nested', toInt32({code_of(key)}))"

    def text(self, key: str) -> str | None:
        """Return SQL for the text of an event's property, null if it is missing.

        Returns:
            None if the property has no column.
        """
        own = self.checked(key)
        return None if own is None else f"if({own[1]}, NULL, {own[0]})"

    def plain_text(self, key: str) -> str | None:
        """Return SQL for the text of an event's property, empty when it is null or absent.

        Returns:
            None if the property has no column.
        """
        text = self.text(key)
        return None if text is None else f"ifNull(CAST({text}, 'Nullable(String)'), '')"


NO_COLUMNS: Final = DedicatedColumns()
