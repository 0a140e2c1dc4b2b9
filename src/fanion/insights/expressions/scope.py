"""The names that an expression of users' SQL may use, and the parts that its statement lends it.

Source: insights.md, section 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from sqlglot import exp

from fanion.properties.bindings import Bindings

Kind = Literal["value", "time", "json"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source.

    Attributes:
        text: The expression that reads it.
        moment: For a time, the column by which it is compared.
        is_set: Whether it is never null.
    """

    text: str
    kind: Kind = "value"
    moment: str = ""
    is_set: bool = False


@dataclass(slots=True)
class Names:
    """The names of a statement, none of which is a user's."""

    number: int = 0

    def new(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"


class ColumnSource(Protocol):
    """A source of columns by the paths that name them."""

    def column(self, parts: Sequence[str]) -> Column | None:
        """Return the column of a path such as `properties.plan`, None if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Lent:
    """The parts of a statement that its expressions use.

    Attributes:
        zone: The time zone of the project, as an expression.
        members: Returns a SELECT of the members of a cohort by its id.
    """

    bindings: Bindings
    names: Names
    zone: str
    members: Callable[[int], str]


class Selects(Protocol):
    """The writer of SELECTs that stand within expressions."""

    def subquery(self, node: exp.Expr) -> str: ...

    def count_part(self, node: exp.Expr) -> None:
        """Count an expression that is written.

        Raises:
            Refused: The statement has too many.
        """


@dataclass(slots=True)
class Inputs:
    """The things that the text of a user may name, besides columns.

    Attributes:
        values: The values of placeholders, by their names.
        cohorts: The ids of the project's cohorts, by their ids and by their names as the text has
            them.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    cohorts: Mapping[int | str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Scope:
    """The names that an expression may use.

    Attributes:
        aliases: The names of the SELECT's own columns, and what they are called in the statement.
        aliases_first: Whether such a name comes before a column of a source.
        parameters: The names of the parameters of functions around the expression.
    """

    sources: Sequence[tuple[str, ColumnSource]] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    aliases_first: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)

    def column(self, parts: Sequence[str]) -> Column | None:
        if len(parts) == 1 and parts[0] in self.parameters:
            return Column(self.parameters[parts[0]])
        if self.aliases_first and (alias := self._alias(parts)) is not None:
            return alias
        if len(parts) > 1:
            for name, source in self.sources:
                if name == parts[0] and (found := source.column(parts[1:])) is not None:
                    return found
        for _, source in self.sources:
            if (found := source.column(parts)) is not None:
                return found
        return self._alias(parts)

    def _alias(self, parts: Sequence[str]) -> Column | None:
        name = self.aliases.get(parts[0]) if len(parts) == 1 else None
        return None if name is None else Column(name)
