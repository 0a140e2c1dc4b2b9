"""Expressions of users' SQL, rewritten from their tree.

Every kind of node has a rule here, and every part of it is named; what has none is refused. Texts
are bound, and names are replaced with generated ones, so nothing of the user's text is sent.

Source: insights.md, section 10.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sqlglot import exp

from fanion.insights.hogql.functions import (
    AGGREGATES,
    FUNCTIONS,
    TEMPLATES,
    TYPES,
    UNITS,
    WINDOW_FUNCTIONS,
)
from fanion.insights.hogql.grammar import COHORT, Refused, TooDeep, place_of
from fanion.insights.hogql.sources_sql import Column, Source, Tables
from fanion.properties.condition_sql import path_text

_NUMBER: Final = re.compile(r"[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,4})?|\.[0-9]{1,40}")
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
# Numbers that a value of the request may have.
_WHOLE_MAX: Final = 2**63


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

    sources: Sequence[tuple[str, Source]] = ()
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


class Parts(dict[str, Any]):
    """The parts of a node, of which those that are asked for must be there."""

    def __init__(self, node: exp.Expr, parts: Mapping[str, Any]) -> None:
        super().__init__(parts)
        self._node = node

    def __missing__(self, name: str) -> Any:
        raise Refused("The query is not complete.", place_of(self._node))


def given(node: exp.Expr, *known: str) -> Parts:
    """Return the parts of a node.

    Raises:
        Refused: It has others than the known ones.
    """
    found = {
        name: value
        for name, value in node.args.items()
        if value is not None and value is not False and value != []
    }
    for name in found:
        if name not in known:
            what = name.rstrip("_").replace("_", " ").upper()
            raise Refused(f"{what} is not supported here.", place_of(node))
    return Parts(node, found)


class Expressions:
    """The expressions of one SELECT."""

    def __init__(self, tables: Tables, scope: Scope, selects: Selects, inputs: Inputs) -> None:
        self.scope = scope
        self.has_aggregate = False
        # Within the condition of a join a comparison stays plain: without a value it never holds.
        self.is_joining = False
        self._tables = tables
        self._bindings = tables.compiler.bindings
        self._selects = selects
        self._inputs = inputs

    def text(self, node: exp.Expr | None) -> str:
        """Return an expression of the statement.

        Raises:
            Refused: A part of it is not allowed.
        """
        rule = None if node is None else _RULES.get(type(node))
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
        parts = _path(node)
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
                return Column(path_text(found.text, parts[length:], self._bindings))
        return None

    def texts(self, nodes: Sequence[exp.Expr]) -> str:
        return ", ".join(map(self.text, nodes))

    # ── Values ──────────────────────────────────────────────────────────────────────────

    def _column(self, node: exp.Expr) -> str:
        found = self.column(node)
        if found is None:
            raise Refused("This is no column.", place_of(node))
        return found.text

    def _literal(self, node: exp.Expr) -> str:
        given(node, "this", "is_string")
        if node.is_string:
            return self._bindings.text(str(node.this))
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
            return self._bindings.add(value, "Float64")
        if isinstance(value, str):
            return self._bindings.text(value)
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
        found = self.column(node) if _path(node) is not None else None
        if found is not None:
            return found.text
        parts = given(node, "this", "expressions")
        if len(parts["expressions"]) != 1:
            raise Refused("A place in an array must be one number.", place_of(node))
        return f"arrayElement({self.text(parts['this'])}, {self.text(parts['expressions'][0])})"

    def _dot(self, node: exp.Expr) -> str:
        if _path(node) is not None:
            return self._column(node)
        parts = given(node, "this", "expression")
        if not (isinstance(parts["expression"], exp.Literal) and parts["expression"].is_int):
            raise Refused("A part of a tuple must be a number.", place_of(node))
        return f"tupleElement({self.text(parts['this'])}, {int(parts['expression'].this)})"

    # ── Operators ───────────────────────────────────────────────────────────────────────

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
        column = self.column(node) if _path(node) is not None else None
        return column.moment if column is not None and column.moment else None

    def moment(self, node: exp.Expr) -> str:
        """Return a value that is compared with a time; a text is in the project's zone."""
        known = self._moment_of(node)
        if known is not None:
            return known
        if isinstance(node, exp.Literal) and node.is_string:
            text = self._bindings.text(str(node.this))
            return f"parseDateTime64BestEffort({text}, 6, {self._tables.zone})"
        return f"toDateTime64({self.text(node)}, 6, {self._tables.zone})"

    def _is_set(self, node: exp.Expr) -> bool:
        """Return whether a value is known never to be null."""
        if isinstance(node, exp.Paren):
            return self._is_set(node.this)
        if _path(node) is not None:
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
        if isinstance(field, exp.Anonymous) and _name_of(field) == COHORT:
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
        return self._tables.compiler.members(self._inputs.cohorts[sent])

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

    # ── Functions ───────────────────────────────────────────────────────────────────────

    def _call(self, node: exp.Expr) -> str:
        sent, arguments = _name_of(node), given(node, "this", "expressions").get("expressions", [])
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
        sent = _name_of(node)
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
        named = {part.name: self._tables.names.new("x") for part in parts["expressions"]}
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
        name = _name_of(call).lower() if isinstance(call, exp.Anonymous) else ""
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


def _path(node: exp.Expr) -> list[str] | None:
    """Return the names of a path such as `person.properties.plan`, None for what is no path."""
    if isinstance(node, exp.Identifier):
        return [str(node.this)]
    if isinstance(node, exp.Column):
        given(node, "this", "table", "db", "catalog")
        if not all(isinstance(part, exp.Identifier) for part in node.parts):
            return None
        return [str(part.this) for part in node.parts]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = _path(node.this)
        return None if before is None else [*before, str(node.expression.this)]
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        before, [key] = _path(node.this), node.expressions
        is_named = before is not None and "properties" in before
        if is_named and isinstance(key, exp.Literal) and key.is_string:
            return [*(before or []), str(key.this)]
    return None


def _name_of(node: exp.Expr) -> str:
    name = node.args.get("this")
    return str(name.this) if isinstance(name, exp.Identifier) else str(name)


_Rule = Callable[[Expressions, Any], str]
_RULES: Final[Mapping[type[exp.Expr], _Rule]] = {
    **dict.fromkeys(_ARITHMETIC, Expressions._arithmetic),
    **dict.fromkeys(_COMPARISONS, Expressions._comparison),
    **dict.fromkeys(_LIKE, Expressions._like),
    **dict.fromkeys((exp.Column, exp.Identifier), Expressions._column),
    **dict.fromkeys((exp.Array, exp.Tuple), Expressions._list),
    **dict.fromkeys((exp.And, exp.Or), Expressions._connected),
    exp.Anonymous: Expressions._call,
    exp.Between: Expressions._between,
    exp.Boolean: Expressions._boolean,
    exp.Bracket: Expressions._bracket,
    exp.Case: Expressions._case,
    exp.Cast: Expressions._cast,
    exp.Dot: Expressions._dot,
    exp.If: Expressions._if,
    exp.In: Expressions._in,
    exp.Interval: Expressions._interval,
    exp.Is: Expressions._is,
    exp.Lambda: Expressions._lambda,
    exp.Literal: Expressions._literal,
    exp.Neg: Expressions._negated,
    exp.Not: Expressions._not,
    exp.Null: Expressions._null,
    exp.ParameterizedAgg: Expressions._parametric,
    exp.Paren: Expressions._paren,
    exp.Placeholder: Expressions._placeholder,
    exp.Subquery: Expressions._subquery,
    exp.Window: Expressions._window,
}
