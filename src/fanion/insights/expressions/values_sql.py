"""Values of users' SQL, rewritten from their tree.

Every kind of node has a rule here, and every part of it is named; what has none is refused. Texts
are bound, and names are replaced with generated ones, so nothing of the user's text is sent.

Source: insights.md, section 10.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from sqlglot import exp

from fanion.insights.expressions.functions import UNITS
from fanion.insights.expressions.grammar import Refused, TooDeep, place_of
from fanion.insights.expressions.nodes import given, path_of
from fanion.insights.expressions.scope import Column, Inputs, Lent, Scope, Selects
from fanion.properties.condition_sql import path_text

# Writes a node that has a rule.
Rule = Callable[[Any, Any], str]

_NUMBER: Final = re.compile(r"[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,4})?|\.[0-9]{1,40}")
# Numbers that a value of the request may have.
_WHOLE_MAX: Final = 2**63


class Values:
    """The values that expressions consist of: columns, literals, placeholders and lists.

    Attributes:
        rules: How each kind of node is written.
    """

    def __init__(self, lent: Lent, scope: Scope, selects: Selects, inputs: Inputs) -> None:
        self.scope = scope
        self.has_aggregate = False
        # Within the condition of a join a comparison stays plain: without a value it never holds.
        self.is_joining = False
        self._lent = lent
        self._selects = selects
        self._inputs = inputs

    def text(self, node: exp.Expr | None) -> str:
        """Return an expression of the statement.

        Raises:
            Refused: A part of it is not allowed.
        """
        rule = None if node is None else self.rules.get(type(node))
        if rule is None or node is None:
            what = "This" if node is None else type(node).__name__
            raise Refused(
                f"{what} is not supported here.", None if node is None else place_of(node)
            )
        self._selects.count_part(node)
        try:
            return rule(self, node)
        except RecursionError:
            raise TooDeep from None

    def column(self, node: exp.Expr) -> Column | None:
        """Return the column that a node names, None if it is none.

        Raises:
            Refused: There is no such column.
        """
        parts = path_of(node)
        if parts is None:
            return None
        found = self.scope.column(parts) or self._within_json(parts)
        if found is None:
            name = ".".join(parts)[:200]
            raise Refused(f'There is no column "{name}".', place_of(node))
        return found

    def _within_json(self, parts: Sequence[str]) -> Column | None:
        """Return a value within a column that holds JSON, such as the properties of a subquery."""
        for length in range(len(parts) - 1, 0, -1):
            found = self.scope.column(parts[:length])
            if found is not None and found.kind == "json":
                return Column(path_text(found.text, parts[length:], self._lent.bindings))
        return None

    def texts(self, nodes: Sequence[exp.Expr]) -> str:
        return ", ".join(map(self.text, nodes))

    def _column(self, node: exp.Expr) -> str:
        found = self.column(node)
        if found is None:
            raise Refused("This is no column.", place_of(node))
        return found.text

    def _literal(self, node: exp.Expr) -> str:
        given(node, "this", "is_string")
        if node.is_string:
            return self._lent.bindings.text(str(node.this))
        if not _NUMBER.fullmatch(str(node.this)):
            raise Refused("The number cannot be read.", place_of(node))
        return str(node.this)

    def _boolean(self, node: exp.Expr) -> str:
        return "true" if node.this else "false"

    def _null(self, node: exp.Expr) -> str:
        return "NULL"

    def _placeholder(self, node: exp.Expr) -> str:
        name = str(given(node, "this")["this"])
        if name == "filters" or name.startswith("filters."):
            detail = "{filters} must be a condition of WHERE, in a SELECT from events."
            raise Refused(detail, place_of(node))
        if name not in self._inputs.values:
            raise Refused(f'There is no value for "{{{name[:200]}}}".', place_of(node))
        return self._value(self._inputs.values[name], node)

    def _value(self, value: Any, node: exp.Expr) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int) and abs(value) < _WHOLE_MAX:
            return f"({value})"
        if isinstance(value, float):
            return self._lent.bindings.add(value, "Float64")
        if isinstance(value, str):
            return self._lent.bindings.text(value)
        if isinstance(value, list):
            return f"[{', '.join(self._value(part, node) for part in value)}]"
        raise Refused("The value of this placeholder cannot be used in SQL.", place_of(node))

    def _interval(self, node: exp.Expr) -> str:
        parts = given(node, "this", "unit")
        unit = str(getattr(parts.get("unit"), "this", "")).upper()
        number = parts.get("this")
        if unit not in UNITS or number is None:
            raise Refused("An interval must be a number and a unit.", place_of(node))
        if isinstance(number, exp.Literal) and str(number.this).isdecimal():
            return f"{UNITS[unit]}({int(str(number.this)[:18])})"
        return f"{UNITS[unit]}({self.text(number)})"

    def _list(self, node: exp.Expr) -> str:
        function = "array" if isinstance(node, exp.Array) else "tuple"
        return f"{function}({self.texts(given(node, 'expressions').get('expressions', []))})"

    def _bracket(self, node: exp.Expr) -> str:
        found = self.column(node) if path_of(node) is not None else None
        if found is not None:
            return found.text
        parts = given(node, "this", "expressions")
        if len(parts["expressions"]) != 1:
            raise Refused("A place in an array must be one number.", place_of(node))
        return f"arrayElement({self.text(parts['this'])}, {self.text(parts['expressions'][0])})"

    def _dot(self, node: exp.Expr) -> str:
        if path_of(node) is not None:
            return self._column(node)
        parts = given(node, "this", "expression")
        if not (isinstance(parts["expression"], exp.Literal) and parts["expression"].is_int):
            raise Refused("A part of a tuple must be a number.", place_of(node))
        return f"tupleElement({self.text(parts['this'])}, {int(parts['expression'].this)})"

    rules: ClassVar[Mapping[type[exp.Expr], Rule]] = {
        **dict.fromkeys((exp.Column, exp.Identifier), _column),
        **dict.fromkeys((exp.Array, exp.Tuple), _list),
        exp.Boolean: _boolean,
        exp.Bracket: _bracket,
        exp.Dot: _dot,
        exp.Interval: _interval,
        exp.Literal: _literal,
        exp.Null: _null,
        exp.Placeholder: _placeholder,
    }
