"""The parts of the nodes of a tree, as the rules of expressions read them.

Source: insights.md, section 10.
"""

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from fanion.insights.expressions.grammar import Refused, place_of


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


def path_of(node: exp.Expr) -> list[str] | None:
    """Return the names of a path such as `person.properties.plan`; None if it is not a path."""
    if isinstance(node, exp.Identifier):
        return [str(node.this)]
    if isinstance(node, exp.Column):
        given(node, "this", "table", "db", "catalog")
        if not all(isinstance(part, exp.Identifier) for part in node.parts):
            return None
        return [str(part.this) for part in node.parts]
    if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
        before = path_of(node.this)
        return None if before is None else [*before, str(node.expression.this)]
    if isinstance(node, exp.Bracket) and len(node.expressions) == 1:
        before, [key] = path_of(node.this), node.expressions
        is_named = before is not None and "properties" in before
        if is_named and isinstance(key, exp.Literal) and key.is_string:
            return [*(before or []), str(key.this)]
    return None


def name_of(node: exp.Expr) -> str:
    name = node.args.get("this")
    return str(name.this) if isinstance(name, exp.Identifier) else str(name)
