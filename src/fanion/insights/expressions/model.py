"""Expressions in SQL within questions of insights, as they are written for a statement.

Source: insights.md, sections 2b, 2e, 4a and 10b.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

# The path of a column of an event, such as `("properties", "plan")` or `("group_0", "key")`.
ColumnPath = tuple[str, ...]

# A control character, which no text of a statement contains: the texts of users are bound.
_MARK: Final = "\x01"
_MARKED: Final = re.compile(f"{_MARK}([0-9]+){_MARK}")


def mark(number: int) -> str:
    """Return what stands for a column in the text of an expression."""
    return f"{_MARK}{number}{_MARK}"


@dataclass(frozen=True, slots=True)
class WrittenExpression:
    """An expression that was checked and written again.

    Attributes:
        text: SQL with a mark in place of each column.
        values: The values that it binds.
        columns: The columns that the marks stand for, by their numbers.
    """

    text: str
    values: Mapping[str, Any]
    columns: Sequence[ColumnPath]

    def filled(self, columns: Sequence[str]) -> str:
        """Return the SQL with an expression for each column."""
        return _MARKED.sub(lambda found: columns[int(found[1])], self.text)
