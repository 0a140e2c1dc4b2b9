"""Answers of small statements that many questions ask in the same words."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from fanion.insights.sql.compiler import Statement

# A web screen asks about ten of them. One has at most 5,001 rows.
LOOKS_MAX: Final = 20

_Rows = list[tuple[Any, ...]]


def _never() -> None:
    """Return None: it is not known what is written."""


@dataclass(slots=True)
class Looks:
    """The answers of small statements, each as long as nothing is written.

    Attributes:
        written: Returns the number of writes so far; None if that is not known.
    """

    written: Callable[[], int | None] = _never
    _answers: dict[str, _Rows] = field(default_factory=dict)
    _number: int | None = None

    def get(self, statement: Statement) -> _Rows | None:
        """Return the rows that a statement would give now, None if they are not known."""
        number = self.written()
        if number is None or number != self._number:
            return None
        return self._answers.get(_key(statement))

    def put(self, statement: Statement, number: int | None, rows: _Rows) -> None:
        """Keep the rows of a statement, unless something was written meanwhile.

        Args:
            number: The number of writes before it began.
        """
        if number is None or number != self.written():
            return
        if number != self._number or len(self._answers) >= LOOKS_MAX:
            self._answers, self._number = {}, number
        self._answers[_key(statement)] = rows


def _key(statement: Statement) -> str:
    return f"{statement.text}\n{sorted(statement.parameters.items())!r}"
