"""Bound values of a statement for the event store; none is written into the statement's text."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

# Keys with their own column in `attributes`; other keys are read from the JSON text.
COLUMN = re.compile(r"[A-Za-z0-9_$@.\- ]{1,200}")

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
