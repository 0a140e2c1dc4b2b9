"""Operators of users' SQL, rewritten from their tree.

Source: insights.md, section 10.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from sqlglot import exp

from fanion.insights.expressions.functions import TYPES
from fanion.insights.expressions.grammar import COHORT, Refused, place_of
from fanion.insights.expressions.nodes import given, name_of, path_of
from fanion.insights.expressions.values_sql import Rule, Values

_ARITHMETIC: Final[Mapping[type[exp.Expr], str]] = {
    exp.Add: "plus",
    exp.Sub: "minus",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.DPipe: "concat",
    exp.IntDiv: "intDiv",
}
# How two values are compared, the other way round, and what it is without one of them.
_COMPARISONS: Final[Mapping[type[exp.Expr], tuple[str, str, int]]] = {
    exp.EQ: ("=", "=", 0),
    exp.NEQ: ("!=", "!=", 1),
    exp.GT: (">", "<", 0),
    exp.GTE: (">=", "<=", 0),
    exp.LT: ("<", ">", 0),
    exp.LTE: ("<=", ">=", 0),
}
_LIKE: Final[Mapping[type[exp.Expr], str]] = {exp.Like: "like", exp.ILike: "ilike"}


class Operators(Values):
    """The operators and conditions between values."""

    def _paren(self, node: exp.Expr) -> str:
        return self.text(given(node, "this")["this"])

    def _arithmetic(self, node: exp.Expr) -> str:
        parts = given(node, "this", "expression", "typed", "safe")
        left, right = self.text(parts["this"]), self.text(parts["expression"])
        return f"{_ARITHMETIC[type(node)]}({left}, {right})"

    def _negated(self, node: exp.Expr) -> str:
        return f"negate({self.text(given(node, 'this')['this'])})"

    def _not(self, node: exp.Expr) -> str:
        return f"(NOT {self.text(given(node, 'this')['this'])})"

    def _connected(self, node: exp.Expr) -> str:
        given(node, "this", "expression")
        word = " AND " if isinstance(node, exp.And) else " OR "
        return f"({word.join(map(self.text, node.flatten()))})"

    def _comparison(self, node: exp.Expr) -> str:
        parts = given(node, "this", "expression")
        left, right = parts["this"], parts["expression"]
        operator, reverse, without = _COMPARISONS[type(node)]
        for first, second in ((left, right), (right, left)):
            if isinstance(second, exp.Null) and operator in ("=", "!="):
                function = "isNull" if operator == "=" else "isNotNull"
                return f"{function}({self.text(first)})"
        for time, other, sign in ((left, right, operator), (right, left, reverse)):
            moment = self._moment_of(time)
            if moment is not None:
                found = f"({moment} {sign} {self.moment(other)})"
                return self._or_without(found, without, other)
        found = f"({self.text(left)} {operator} {self.text(right)})"
        return self._or_without(found, without, left, right)

    def _or_without(self, found: str, without: int, *values: exp.Expr) -> str:
        """Return a comparison with what it is where one of these values is null."""
        is_plain = self.is_joining or all(map(self._is_set, values))
        return found if is_plain else f"ifNull({found}, {without})"

    def _moment_of(self, node: exp.Expr) -> str | None:
        """Return the column by which a time is compared, None for what is none."""
        column = self.column(node) if path_of(node) is not None else None
        return column.moment if column is not None and column.moment else None

    def moment(self, node: exp.Expr) -> str:
        """Return a value that is compared with a time; a text is in the project's zone."""
        known = self._moment_of(node)
        if known is not None:
            return known
        if isinstance(node, exp.Literal) and node.is_string:
            text = self._lent.bindings.text(str(node.this))
            return f"parseDateTime64BestEffort({text}, 6, {self._lent.zone})"
        return f"toDateTime64({self.text(node)}, 6, {self._lent.zone})"

    def _is_set(self, node: exp.Expr) -> bool:
        """Return whether a value is known never to be null."""
        if isinstance(node, exp.Paren):
            return self._is_set(node.this)
        if path_of(node) is not None:
            column = self.column(node)
            return column is not None and column.is_set
        return isinstance(node, exp.Literal | exp.Boolean)

    def _between(self, node: exp.Expr) -> str:
        parts = given(node, "this", "low", "high")
        low = exp.GTE(this=parts["this"], expression=parts["low"])
        high = exp.LTE(this=parts["this"], expression=parts["high"])
        return f"({self.text(low)} AND {self.text(high)})"

    def _is(self, node: exp.Expr) -> str:
        parts = given(node, "this", "expression")
        if not isinstance(parts["expression"], exp.Null):
            raise Refused("IS must be followed by NULL or NOT NULL.", place_of(node))
        return f"isNull({self.text(parts['this'])})"

    def _like(self, node: exp.Expr) -> str:
        parts = given(node, "this", "expression", "negate")
        found = f"{_LIKE[type(node)]}({self.text(parts['this'])}, {self.text(parts['expression'])})"
        found = f"ifNull({found}, 0)"
        return f"(NOT {found})" if parts.get("negate") else found

    def _in(self, node: exp.Expr) -> str:
        parts = given(node, "this", "expressions", "query", "field")
        value = self.text(parts["this"])
        if "query" in parts:
            return f"ifNull(({value} GLOBAL IN {self._selects.subquery(parts['query'])}), 0)"
        if "field" in parts:
            return self._in_field(value, parts["field"])
        return f"ifNull(({value} IN tuple({self.texts(parts.get('expressions', []))})), 0)"

    def _in_field(self, value: str, field: exp.Expr) -> str:
        if isinstance(field, exp.Anonymous) and name_of(field) == COHORT:
            return f"({value} GLOBAL IN ({self._members(field)}))"
        return f"has({self.text(field)}, {value})"

    def _members(self, node: exp.Expr) -> str:
        named = node.expressions[0] if len(node.expressions) == 1 else None
        is_id = isinstance(named, exp.Literal) and str(named.this).isdecimal()
        if not isinstance(named, exp.Literal) or not (named.is_string or is_id):
            raise Refused("COHORT must be followed by an id or a name.", place_of(node))
        sent: int | str = str(named.this) if named.is_string else int(str(named.this)[:18])
        if sent not in self._inputs.cohorts:
            raise Refused(f"There is no cohort {sent!r}.", place_of(named))
        return self._lent.members(self._inputs.cohorts[sent])

    def _case(self, node: exp.Expr) -> str:
        parts = given(node, "this", "ifs", "default")
        arguments: list[str] = []
        for branch in parts["ifs"]:
            one = given(branch, "this", "true")
            condition = one["this"]
            if "this" in parts:
                condition = exp.EQ(this=parts["this"], expression=condition)
            arguments += [self.text(condition), self.text(one["true"])]
        default = self.text(parts["default"]) if "default" in parts else "NULL"
        return f"multiIf({', '.join([*arguments, default])})"

    def _if(self, node: exp.Expr) -> str:
        parts = given(node, "this", "true", "false")
        return f"if({self.texts([parts['this'], parts['true'], parts['false']])})"

    def _cast(self, node: exp.Expr) -> str:
        parts = given(node, "this", "to")
        kind = str(getattr(parts["to"].args.get("this"), "value", ""))
        if kind not in TYPES or parts["to"].expressions:
            raise Refused("A value cannot be cast to this type.", place_of(node))
        return f"CAST({self.text(parts['this'])}, 'Nullable({TYPES[kind]})')"

    rules: ClassVar[Mapping[type[exp.Expr], Rule]] = {
        **Values.rules,
        **dict.fromkeys(_ARITHMETIC, _arithmetic),
        **dict.fromkeys(_COMPARISONS, _comparison),
        **dict.fromkeys(_LIKE, _like),
        **dict.fromkeys((exp.And, exp.Or), _connected),
        exp.Between: _between,
        exp.Case: _case,
        exp.Cast: _cast,
        exp.If: _if,
        exp.In: _in,
        exp.Is: _is,
        exp.Neg: _negated,
        exp.Not: _not,
        exp.Paren: _paren,
    }
