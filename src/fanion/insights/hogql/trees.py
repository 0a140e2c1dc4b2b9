"""Parts of the tree of a query: the labels of its columns, its conditions, and what it names.

Source: insights.md, section 10.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import exp

from fanion.insights.expressions.grammar import COHORT, Dialect
from fanion.insights.expressions.nodes import given

_NAME_CHARS_MAX: Final = 200


def all_of(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the conditions that all must hold."""
    if isinstance(node, exp.Paren):
        yield from all_of(node.this)
    elif isinstance(node, exp.And):
        given(node, "this", "expression")
        for part in node.flatten():
            yield from [part] if not isinstance(part, exp.And | exp.Paren) else all_of(part)
    else:
        yield node


def is_place(node: exp.Expr) -> bool:
    """Return whether a node is a place in an array or a tuple, not a column."""
    if isinstance(node, exp.Bracket):
        [key] = node.expressions if len(node.expressions) == 1 else [None]
        return not (isinstance(key, exp.Literal) and key.is_string)
    return isinstance(node, exp.Dot) and not isinstance(node.expression, exp.Identifier)


def label_of(node: exp.Expr) -> str:
    """Return the label of a column without an alias."""
    if isinstance(node, exp.Column) and not node.args.get("table"):
        return str(node.name)[:_NAME_CHARS_MAX]
    if isinstance(node, exp.Alias):
        return ""
    written = node.sql(dialect=Dialect, comments=False, normalize_functions=False)
    return written.replace(f'"{COHORT}"', "COHORT").replace(": }", "}")[:_NAME_CHARS_MAX]


def cohorts_named(node: exp.Expr) -> Sequence[int | str]:
    """Return the cohorts that a query names by `IN COHORT`, by id or name."""
    return [
        str(named.this) if named.is_string else int(str(named.this)[:18])
        for call in node.find_all(exp.Anonymous)
        if isinstance(call.this, exp.Identifier) and call.this.this == COHORT
        for named in call.expressions
        if isinstance(named, exp.Literal) and (named.is_string or str(named.this).isdecimal())
    ]


def reads_table(node: exp.Expr, name: str) -> bool:
    return any(table.name == name for table in node.find_all(exp.Table))
