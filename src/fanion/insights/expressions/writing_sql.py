"""The expressions in SQL of one question, checked and written again.

They are conditions on an event, values of it, or aggregates of events. None has a SELECT of its
own. All those of a question together have the limits of one query.

Source: insights.md, section 10b.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sqlglot import exp

from fanion.errors import Invalid
from fanion.insights.entities import SqlText
from fanion.insights.expressions.expressions_sql import Expressions
from fanion.insights.expressions.functions import AGGREGATES
from fanion.insights.expressions.grammar import (
    COHORT,
    TEXT_BYTES_MAX,
    TOKENS_MAX,
    Refused,
    count_tokens,
    parse_expression,
    place_of,
)
from fanion.insights.expressions.model import ColumnPath, WrittenExpression
from fanion.insights.expressions.nodes import name_of
from fanion.insights.expressions.row import PROPERTIES_MAX, EventRow
from fanion.insights.expressions.scope import Column, Inputs, Lent, Names, Scope
from fanion.properties.bindings import Bindings

# What BETWEEN compares is written twice, and that of CASE for each WHEN: nested ones multiply.
PARTS_MAX: Final = 50_000
CHARS_MAX: Final = 400_000
CODE: Final = "invalid_sql"
_TOO_LONG: Final = "The expressions of the question are too long together."
# What an expression of this role is in the statement.
_FORMS: Final = {
    "condition": "ifNull({}, 0)",
    "value": "ifNull(toString({}), '')",
    "aggregate": "ifNotFinite(toFloat64(ifNull({}, 0)), 0)",
}


def write_expressions(texts: Sequence[SqlText], zone: str) -> Mapping[SqlText, WrittenExpression]:
    """Write the expressions of a question. It takes up to a second, for the longest texts.

    Args:
        zone: The name of the time zone of the project.

    Raises:
        Invalid: A part of one is not allowed, with the place in the request and in the text.
    """
    writer = _Writer(zone)
    return {sent: writer.written(sent, number) for number, sent in enumerate(texts)}


class _Writer:
    """The writer of the expressions of one question, which counts what they have together."""

    def __init__(self, zone: str) -> None:
        self._zone = zone
        self._bytes = self._tokens = self._parts = self._chars = 0
        self._properties: set[ColumnPath] = set()

    def written(self, sent: SqlText, number: int) -> WrittenExpression:
        try:
            return self._written(sent, Bindings(f"sql{number}_"))
        except Refused as refused:
            raise Invalid(refused.placed(sent.text), code=CODE, attr=sent.place) from None

    def _written(self, sent: SqlText, bindings: Bindings) -> WrittenExpression:
        self._count_text(sent.text)
        tree = parse_expression(sent.text, sent.place)
        for refused in _refusals(tree, sent):
            raise refused
        zone = bindings.text(self._zone)
        row = EventRow(zone)
        lent = Lent(bindings, Names(), zone, _no_members)
        kind = _Aggregates if sent.role == "aggregate" else Expressions
        write = kind(lent, Scope([("events", row)]), self, Inputs())
        text = _FORMS[sent.role].format(write.text(tree))
        if sent.role == "aggregate" and not write.has_aggregate:
            detail = "This must be an aggregate, such as count() or sum(toFloat(properties.price))."
            raise Refused(detail, place_of(tree))
        self._count_written(text, row.paths)
        return WrittenExpression(text, bindings.values, row.paths)

    def _count_text(self, text: str) -> None:
        self._bytes += len(text.encode("utf-8", "replace"))
        if self._bytes > TEXT_BYTES_MAX:
            raise Refused(_TOO_LONG)
        self._tokens += count_tokens(text)
        if self._tokens > TOKENS_MAX:
            raise Refused(_TOO_LONG)

    def _count_written(self, text: str, paths: Sequence[ColumnPath]) -> None:
        self._chars += len(text)
        self._properties.update(path for path in paths if "properties" in path[:2])
        if self._chars > CHARS_MAX:
            raise Refused(_TOO_LONG)
        if len(self._properties) > PROPERTIES_MAX:
            raise Refused(f"The question names more than {PROPERTIES_MAX} properties in SQL.")

    def subquery(self, node: exp.Expr) -> str:
        """Refuse a SELECT, as what writes those within an expression."""
        raise Refused("SELECT is not supported within an insight.", place_of(node))

    def count_part(self, node: exp.Expr) -> None:
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise Refused(_TOO_LONG, place_of(node))


class _Aggregates(Expressions):
    """Expressions whose columns are all within an aggregate."""

    _is_within = False

    def column(self, node: exp.Expr) -> Column | None:
        found = super().column(node)
        if found is None or self._is_within or found.text in self.scope.parameters.values():
            return found
        raise Refused("A column must be within an aggregate here.", place_of(node))

    def _aggregate(self, name: str, arguments: Sequence[exp.Expr], before: str) -> str:
        if self._is_within:
            inner = place_of(arguments[0]) if arguments else None
            raise Refused("An aggregate cannot be used within another one.", inner)
        self._is_within = True
        try:
            return super()._aggregate(name, arguments, before)
        finally:
            self._is_within = False


def _refusals(tree: exp.Expr, sent: SqlText) -> Iterator[Refused]:
    """Yield what is wrong with an expression that a query of its own may have."""
    for node in tree.walk():
        if isinstance(node, exp.Window):
            yield Refused("OVER is not supported within an insight.", place_of(node))
        if not isinstance(node, exp.Anonymous | exp.ParameterizedAgg):
            continue
        name = name_of(node)
        if name == COHORT:
            detail = "COHORT is not supported within an insight. Use a condition of type cohort."
            yield Refused(detail, place_of(node))
        if name.lower() == "arrayjoin":
            yield Refused(f"{name} is not supported within an insight.", place_of(node))
        if name.lower() in AGGREGATES and sent.role != "aggregate":
            yield Refused("An aggregate cannot be used here.", place_of(node))


def _no_members(_: int) -> str:
    raise Refused("COHORT is not supported within an insight.")
