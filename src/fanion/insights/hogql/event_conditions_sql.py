"""Conditions of a SELECT by which the table of events finds its rows.

Source: insights.md, section 10.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import exp

from fanion.insights.expressions.expressions_sql import Expressions
from fanion.insights.hogql.sources_sql import EventsTable

_SIMPLE: Final[Mapping[type[exp.Expr], str]] = {
    exp.EQ: "=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
}
# What a condition may have that is as constant as it looks.
_CONSTANT: Final = (
    *(exp.Literal, exp.Anonymous, exp.Interval, exp.Add, exp.Sub, exp.Paren, exp.Var),
    *(exp.Placeholder, exp.Neg),
)


@dataclass(frozen=True, slots=True)
class EventConditions:
    """The conditions that one table of events of a SELECT is given.

    Attributes:
        name: That of the table in the SELECT.
        new_expressions: Returns what writes expressions without the columns of any table.
    """

    name: str
    events: EventsTable
    new_expressions: Callable[[], Expressions]

    def push(self, node: exp.Expr) -> None:
        """Let the table find its rows by a simple condition, which stays a condition as well."""
        if isinstance(node, exp.Between):
            for kind, bound in ((exp.GTE, node.args["low"]), (exp.LTE, node.args["high"])):
                self.push(kind(this=node.this, expression=bound))
            return
        is_list = isinstance(node, exp.In) and bool(node.args.get("expressions"))
        if type(node) not in _SIMPLE and not is_list:
            return
        column = node.this
        if not isinstance(column, exp.Column) or column.args.get("db"):
            return
        table = column.args.get("table")
        own = self.events.own_column(column.name)
        if own is None or (table is not None and table.name != self.name):
            return
        values = node.args["expressions"] if is_list else [node.args["expression"]]
        if not all(isinstance(part, _CONSTANT) for value in values for part in value.walk()):
            return
        self._push_plain(node, own, values)

    def _push_plain(self, node: exp.Expr, own: str, values: Sequence[exp.Expr]) -> None:
        write = self.new_expressions()
        is_time = own == "timestamp"
        texts = [write.moment(value) if is_time else write.text(value) for value in values]
        if write.has_aggregate:
            return
        if isinstance(node, exp.In):
            self.events.push(f"{own} IN tuple({', '.join(texts)})")
        else:
            self.events.push(f"{own} {_SIMPLE[type(node)]} {texts[0]}")
