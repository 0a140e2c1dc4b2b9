"""The values of a statement for the event store: bound by name, never written into its text."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

# Keys that name one column of `attributes`; any other key is read from the text.
COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")

# What the store's times hold: the years 1900 to 2299.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
_MICROS_MIN = (datetime(1900, 1, 1, tzinfo=UTC) - _EPOCH) // MICROSECOND
_MICROS_MAX = (datetime(2299, 12, 31, tzinfo=UTC) - _EPOCH) // MICROSECOND


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


def micros(moment: datetime) -> int:
    """Since 1970, moved into the years that the store holds. moment: aware"""
    return min(max((moment - _EPOCH) // MICROSECOND, _MICROS_MIN), _MICROS_MAX)
