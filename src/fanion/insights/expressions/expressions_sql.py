"""Expressions of users' SQL, rewritten from their tree: calls of functions, and all within them.

Source: insights.md, section 10.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from sqlglot import exp

from fanion.insights.expressions.functions import (
    AGGREGATES,
    FUNCTIONS,
    TEMPLATES,
    WINDOW_FUNCTIONS,
)
from fanion.insights.expressions.grammar import Refused, place_of
from fanion.insights.expressions.nodes import given, name_of
from fanion.insights.expressions.operators_sql import Operators
from fanion.insights.expressions.scope import Scope
from fanion.insights.expressions.values_sql import Rule


class Expressions(Operators):
    """The expressions of one SELECT."""

    def _call(self, node: exp.Expr) -> str:
        sent, arguments = name_of(node), given(node, "this", "expressions").get("expressions", [])
        name = sent.lower()
        if name in AGGREGATES:
            self.has_aggregate = True
            return self._aggregate(AGGREGATES[name], arguments, "")
        if name in TEMPLATES:
            if len(arguments) != 1:
                raise Refused(f"{sent} takes one value.", place_of(node))
            return TEMPLATES[name].format(self.text(arguments[0]))
        if name not in FUNCTIONS:
            raise Refused(f'The function "{sent[:100]}" is not supported.', place_of(node))
        return f"{FUNCTIONS[name]}({self.texts(arguments)})"

    def _parametric(self, node: exp.Expr) -> str:
        """Write an aggregate that has parameters in front, which are numbers."""
        parts = given(node, "this", "expressions", "params")
        sent = name_of(node)
        name = sent.lower()
        if name not in AGGREGATES:
            raise Refused(f'The function "{sent[:100]}" is not supported.', place_of(node))
        for parameter in parts.get("expressions", []):
            if not isinstance(parameter, exp.Literal) or parameter.is_string:
                raise Refused(f"The parameters of {sent} must be numbers.", place_of(node))
        self.has_aggregate = True
        before = f"({self.texts(parts.get('expressions', []))})"
        return self._aggregate(AGGREGATES[name], parts.get("params", []), before)

    def _aggregate(self, name: str, arguments: Sequence[exp.Expr], before: str) -> str:
        if name == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
            return "count()"
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            values = given(arguments[0], "expressions")["expressions"]
            name = "uniqExact" if name == "count" else f"{name}Distinct"
            if name.lower() not in AGGREGATES:
                raise Refused("DISTINCT is not supported here.", place_of(arguments[0]))
            return f"{name}{before}({self.texts(values)})"
        return f"{name}{before}({self.texts(arguments)})"

    def _lambda(self, node: exp.Expr) -> str:
        parts = given(node, "this", "expressions")
        named = {part.name: self._lent.names.new("x") for part in parts["expressions"]}
        outer = self.scope
        self.scope = Scope(
            outer.sources, outer.aliases, outer.aliases_first, {**outer.parameters, **named}
        )
        try:
            body = self.text(parts["this"])
        finally:
            self.scope = outer
        return f"(({', '.join(named.values())}) -> {body})"

    def _window(self, node: exp.Expr) -> str:
        parts = given(node, "this", "partition_by", "order", "over")
        call, had = parts["this"], self.has_aggregate
        name = name_of(call).lower() if isinstance(call, exp.Anonymous) else ""
        if name in WINDOW_FUNCTIONS:
            arguments = given(call, "this", "expressions").get("expressions", [])
            function = f"{WINDOW_FUNCTIONS[name]}({self.texts(arguments)})"
        elif name in AGGREGATES:
            function = self.text(call)
        else:
            raise Refused("OVER is only supported after an aggregate.", place_of(node))
        self.has_aggregate = had
        over = []
        if "partition_by" in parts:
            over.append(f"PARTITION BY {self.texts(parts['partition_by'])}")
        if "order" in parts:
            over.append(f"ORDER BY {self.ordered(parts['order'])}")
        return f"{function} OVER ({' '.join(over)})"

    def ordered(self, node: exp.Expr) -> str:
        """Return what follows ORDER BY."""
        return ", ".join(map(self._ordered, given(node, "expressions")["expressions"]))

    def _ordered(self, node: exp.Expr) -> str:
        if not isinstance(node, exp.Ordered):
            return self.text(node)
        parts = given(node, "this", "desc", "nulls_first")
        nulls = " NULLS FIRST" if parts.get("nulls_first") else ""
        return f"{self.text(parts['this'])} {'DESC' if parts.get('desc') else 'ASC'}{nulls}"

    def _subquery(self, node: exp.Expr) -> str:
        return self._selects.subquery(node)

    rules: ClassVar[Mapping[type[exp.Expr], Rule]] = {
        **Operators.rules,
        exp.Anonymous: _call,
        exp.Lambda: _lambda,
        exp.ParameterizedAgg: _parametric,
        exp.Subquery: _subquery,
        exp.Window: _window,
    }
