"""SELECTs as they are written, with their order and limit.

Source: insights.md, section 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from fanion.insights.expressions.expressions_sql import Expressions
from fanion.insights.expressions.grammar import Refused, place_of
from fanion.insights.expressions.nodes import given
from fanion.insights.expressions.scope import Column, Kind
from fanion.insights.hogql.query import OFFSET_MAX
from fanion.insights.hogql.sources_sql import Tables


@dataclass(frozen=True, slots=True)
class Shown:
    """A column of an answer.

    Attributes:
        label: As the user named or wrote it.
        name: Its name in the statement.
    """

    label: str
    name: str
    kind: Kind = "value"
    moment: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """A SELECT as it is sent.

    Attributes:
        text: Without its limit, if it is the whole query.
        limit: The rows that the whole query asks for; None if it does not say.
        is_newest_first: Whether the whole query lists single events, the newest first.
    """

    text: str
    columns: Sequence[Shown]
    limit: int | None = None
    offset: int = 0
    is_newest_first: bool = False


class SelectedRows:
    """The rows of a SELECT that another one reads."""

    def __init__(self, tables: Tables, written: Written) -> None:
        self.name = tables.names.new("t")
        self._written = written

    def column(self, parts: Sequence[str]) -> Column | None:
        if len(parts) > 1:
            return None
        for shown in self._written.columns:
            if shown.label == parts[0]:
                return Column(f"{self.name}.{shown.name}", shown.kind)
        return None

    def columns(self) -> Sequence[str]:
        return [shown.label for shown in self._written.columns]

    def text(self) -> str:
        return f"({self._written.text}) AS {self.name}"


def is_limited_by(parts: Mapping[str, Any]) -> bool:
    """Return whether the limit is one for each value of something."""
    return "limit" in parts and bool(parts["limit"].args.get("expressions"))


def with_end(
    text: str,
    columns: Sequence[Shown],
    parts: Mapping[str, Any],
    write: Expressions,
    is_whole: bool,
) -> Written:
    """Return a SELECT with its order and its limit; that of the whole query is told instead."""
    if "order" in parts:
        text += f" ORDER BY {write.ordered(parts['order'])}"
    limit, offset = None, _number(parts, "offset", "expression") or 0
    if "limit" in parts:
        known = given(parts["limit"], "expression", "expressions")
        limit = _number(parts, "limit", "expression")
        if "expressions" in known:
            text += f" LIMIT {limit} BY {write.texts(known['expressions'])}"
            limit = None
    if is_whole:
        return Written(text, columns, limit, offset)
    if limit is not None:
        text += f" LIMIT {limit}"
    return Written(f"{text} OFFSET {offset}" if offset else text, columns)


def _number(parts: Mapping[str, Any], name: str, part: str) -> int | None:
    if name not in parts:
        return None
    node = given(parts[name], "expression", "expressions").get(part)
    if not isinstance(node, exp.Literal) or not str(node.this).isdecimal():
        raise Refused(f"{name.upper()} must be a whole number.", place_of(parts[name]))
    return min(int(str(node.this)[:18]), OFFSET_MAX)
