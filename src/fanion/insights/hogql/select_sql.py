"""SELECTs of users' SQL, rewritten from their tree.

Source: insights.md, section 10.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sqlglot import exp

from fanion.insights.expressions.expressions_sql import Expressions
from fanion.insights.expressions.grammar import Dialect, Refused, TooDeep, place_of
from fanion.insights.expressions.nodes import given
from fanion.insights.expressions.scope import Inputs, Scope
from fanion.insights.hogql.event_conditions_sql import EventConditions
from fanion.insights.hogql.sources_sql import (
    EventsTable,
    SessionsTable,
    Source,
    Tables,
    cohorts_table,
    groups_table,
    persons_table,
)
from fanion.insights.hogql.trees import all_of, is_place, label_of
from fanion.insights.hogql.written_sql import SelectedRows, Shown, Written, is_limited_by, with_end

# A table of WITH counts each time it is used.
SELECTS_MAX: Final = 50
STATEMENT_CHARS_MAX: Final = 400_000
# What BETWEEN compares is written twice, and that of CASE for each WHEN: nested ones multiply.
PARTS_MAX: Final = 50_000
_TOO_LONG: Final = "The query is too long once its columns are written out."

_TABLES: Final[Mapping[str, Callable[[Tables], Source]]] = {
    "events": EventsTable,
    "persons": persons_table,
    "groups": groups_table,
    "sessions": SessionsTable,
    "cohorts": cohorts_table,
}
_SIDES: Final = ("LEFT", "RIGHT", "FULL")
# Parts with which a row is of several events.
_OF_MANY: Final = frozenset({"distinct", "group", "having", "joins"})


@dataclass(slots=True)
class Statements:
    """The SELECTs of one query.

    Attributes:
        filters: The condition on a row of `events` that `{filters}` stands for.
        since: The time from which a list of the newest events reads events; None for all.
    """

    tables: Tables
    inputs: Inputs
    filters: str = "1"
    since: datetime | None = None
    _with: Mapping[str, "tuple[exp.Expr, Mapping[str, Any]]"] = field(default_factory=dict)
    _selects: int = 0
    _parts: int = 0

    def query(self, node: exp.Expr) -> Written:
        """Write the whole query.

        Raises:
            Refused: A part of it is not allowed.
        """
        try:
            written = self._written(node, is_whole=True)
        except RecursionError:
            raise TooDeep from None
        if len(written.text) > STATEMENT_CHARS_MAX:
            raise Refused(_TOO_LONG)
        return written

    def count_part(self, node: exp.Expr) -> None:
        self._parts += 1
        if self._parts > PARTS_MAX:
            raise Refused(_TOO_LONG, place_of(node))

    def subquery(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Subquery):
            node = given(node, "this")["this"]
        return f"({self._written(node).text})"

    def _written(self, node: exp.Expr, *, is_whole: bool = False) -> Written:
        self._selects += 1
        if self._selects > SELECTS_MAX:
            raise Refused(f"The query has more than {SELECTS_MAX} SELECTs.", place_of(node))
        if isinstance(node, exp.Subquery):
            return self._written(given(node, "this")["this"], is_whole=is_whole)
        outer = self._with
        try:
            if isinstance(node, exp.Select):
                return _Select(self, node, is_whole).written()
            if isinstance(node, exp.Union):
                return self._union(node, is_whole)
        finally:
            self._with = outer
        raise Refused("Only SELECT and UNION are supported.", place_of(node))

    def _union(self, node: exp.Union, is_whole: bool) -> Written:
        parts = given(node, "this", "expression", "distinct", "order", "limit", "offset", "with_")
        if "with_" in parts:
            self.remember(parts["with_"])
        first, second = self._written(parts["this"]), self._written(parts["expression"])
        word = "UNION DISTINCT" if parts.get("distinct") else "UNION ALL"
        both = Written(f"({first.text}) {word} ({second.text})", first.columns)
        rows = SelectedRows(self.tables, both)
        columns = [Shown(shown.label, self.tables.names.new("a")) for shown in first.columns]
        scope = Scope([("", rows)])
        write = Expressions(self.tables.lent, scope, self, self.inputs)
        listed = ", ".join(
            f"{_plain(f'{rows.name}.{inner.name}', is_whole)} AS {shown.name}"
            for inner, shown in zip(first.columns, columns, strict=True)
        )
        text = f"SELECT {listed} FROM {rows.text()}"
        return with_end(text, columns, parts, write, is_whole)

    def remember(self, node: exp.Expr) -> None:
        """Remember the tables of WITH; each may use those before it."""
        for table in given(node, "expressions")["expressions"]:
            parts = given(table, "this", "alias")
            if not isinstance(parts["this"], exp.Select | exp.Union):
                raise Refused("WITH must name a SELECT: WITH name AS (SELECT …).", place_of(table))
            name = str(given(parts["alias"], "this")["this"].this)
            self._with = {**self._with, name: (parts["this"], self._with)}

    def source(self, node: exp.Expr) -> tuple[str, Source]:
        """Return what a SELECT reads, with the name by which its expressions know it."""
        if isinstance(node, exp.Final):
            raise Refused("FINAL is not supported: an event counts once.", place_of(node))
        if isinstance(node, exp.Table) and isinstance(node.args.get("db"), exp.Identifier):
            raise _no_table(node.sql(dialect=Dialect, comments=False), node)
        parts = given(node, "this", "alias")
        alias = given(parts["alias"], "this")["this"].this if "alias" in parts else ""
        if isinstance(node, exp.Subquery):
            return str(alias), SelectedRows(self.tables, self._written(parts["this"]))
        if not isinstance(node, exp.Table) or not isinstance(parts["this"], exp.Identifier):
            raise Refused("Only tables and SELECTs can be read.", place_of(node))
        name = str(parts["this"].this)
        return str(alias or name), self._table(name, node)

    def _table(self, name: str, node: exp.Expr) -> Source:
        if name in self._with:
            query, known = self._with[name]
            outer, self._with = self._with, known
            try:
                return SelectedRows(self.tables, self._written(query))
            finally:
                self._with = outer
        if name not in _TABLES:
            raise _no_table(name, node)
        return _TABLES[name](self.tables)


def _no_table(name: str, node: exp.Expr) -> Refused:
    known = ", ".join(_TABLES)
    return Refused(f'There is no table "{name[:100]}". Use one of: {known}.', place_of(node))


class _Select:
    """One SELECT."""

    def __init__(self, statements: Statements, node: exp.Select, is_whole: bool) -> None:
        self._statements = statements
        self._tables = statements.tables
        self._is_whole = is_whole
        self._has_window = node.find(exp.Window) is not None
        self._parts = given(
            node,
            *("with_", "expressions", "distinct", "from_", "joins", "where", "group", "having"),
            *("order", "limit", "offset"),
        )
        if "with_" in self._parts:
            statements.remember(self._parts["with_"])
        self._scope = Scope()
        self._write = Expressions(self._tables.lent, self._scope, statements, statements.inputs)
        self._sources: list[tuple[str, Source]] = []
        self._joins: list[tuple[str, Source, exp.Expr | None]] = []

    def written(self) -> Written:
        self._read_sources()
        self._push_since()
        where = self._where()
        columns = self._columns()
        listed = ", ".join(
            f"{_plain(written, self._is_whole)} AS {shown.name}" for written, shown in columns
        )
        text = f"SELECT {self._distinct()}{listed}"
        conditions = [self._write.text(condition) for condition in where]
        self._scope.aliases_first = True
        end = self._group()
        joins = "".join(map(self._joined, self._joins))
        after = with_end("", [], self._parts, self._write, self._is_whole)
        if self._sources:
            text += f" FROM {self._sources[0][1].text()}{joins}"
        if conditions:
            text += f" WHERE {' AND '.join(conditions)}"
        shown = [column for _, column in columns]
        newest = self._is_newest_first()
        return Written(f"{text}{end}{after.text}", shown, after.limit, after.offset, newest)

    def _push_since(self) -> None:
        since, bind = self._statements.since, self._tables.compiler.bindings
        if since is not None and self._is_whole:
            events = self._sources[0][1]
            assert isinstance(events, EventsTable)  # see _is_newest_first
            events.push(f"timestamp >= {bind.time(since)}")

    def _is_newest_first(self) -> bool:
        """Return whether the whole query lists single events, the newest first.

        So its first rows are those of the events since some time, if these have enough.
        """
        parts, write = self._parts, self._write
        is_plain = not (write.has_aggregate or self._has_window or _OF_MANY & parts.keys())
        if not (self._is_whole and is_plain and "order" in parts and len(self._sources) == 1):
            return False
        events, first = self._sources[0][1], parts["order"].expressions[0]
        is_by_time = (
            isinstance(first, exp.Ordered)
            and bool(first.args.get("desc"))
            and isinstance(first.this, exp.Column)
            and first.this.name == "timestamp"
        )
        if not is_by_time or not isinstance(events, EventsTable) or is_limited_by(parts):
            return False
        own = events.column(["timestamp"])
        return own is not None and write.text(first.this) == own.text

    def _read_sources(self) -> None:
        if "from_" not in self._parts:
            if "joins" in self._parts:
                raise Refused("JOIN needs FROM.")
            return
        sources = [self._statements.source(given(self._parts["from_"], "this")["this"])]
        for node in self._parts.get("joins", []):
            parts = given(node, "this", "side", "kind", "on")
            side, kind = str(parts.get("side") or ""), str(parts.get("kind") or "")
            if (side and side not in _SIDES) or kind not in ("", "INNER", "CROSS", "OUTER"):
                raise Refused(f"{kind or side} JOIN is not supported.", place_of(node))
            if ("on" in parts) == (kind == "CROSS"):
                raise Refused("JOIN needs a condition: JOIN … ON ….", place_of(node))
            sources.append(self._statements.source(parts["this"]))
            word = "CROSS" if kind == "CROSS" else side or "INNER"
            self._joins.append((word, sources[-1][1], parts.get("on")))
        self._sources = self._scope.sources = sources

    def _joined(self, join: tuple[str, Source, exp.Expr | None]) -> str:
        word, source, on = join
        self._write.is_joining = True
        condition = "" if on is None else f" ON {self._write.text(on)}"
        self._write.is_joining = False
        return f" {word} JOIN {source.text()}{condition}"

    def _where(self) -> list[exp.Expr]:
        """Return the conditions that are left once those on a row of `events` are pushed down."""
        if "where" not in self._parts:
            return []
        condition = given(self._parts["where"], "this")["this"]
        conditions = list(all_of(condition))
        left = []
        name, events = self._sources[0] if self._sources else ("", None)
        inner = all(word in ("INNER", "LEFT", "CROSS") for word, _, _ in self._joins)
        for one in conditions:
            is_filters = isinstance(one, exp.Placeholder) and one.this == "filters"
            if not isinstance(events, EventsTable) or not (inner or is_filters):
                left.append(one)
            elif is_filters:
                events.push(f"({self._statements.filters})")
            else:
                EventConditions(name, events, self._new_expressions).push(one)
                left.append(one)
        return left

    def _new_expressions(self) -> Expressions:
        statements = self._statements
        return Expressions(self._tables.lent, Scope(), statements, statements.inputs)

    def _columns(self) -> list[tuple[str, Shown]]:
        """Return the columns of the answer, each with its expression."""
        listed = list(self._expanded())
        named = [
            (node, str(node.args["alias"].this) if isinstance(node, exp.Alias) else "")
            for _, node in listed
        ]
        names = [self._tables.names.new("a") for _ in named]
        self._scope.aliases = {
            alias: name for (_, alias), name in zip(named, names, strict=True) if alias
        }
        return [
            self._column(node, alias or label, name)
            for (label, _), (node, alias), name in zip(listed, named, names, strict=True)
        ]

    def _column(self, node: exp.Expr, label: str, name: str) -> tuple[str, Shown]:
        if isinstance(node, exp.Alias):
            node = given(node, "this", "alias")["this"]
        text = self._write.text(node)
        is_column = isinstance(node, exp.Column | exp.Dot | exp.Bracket)
        found = self._write.column(node) if is_column and not is_place(node) else None
        return text, Shown(label, name, "value" if found is None else found.kind)

    def _expanded(self) -> Iterator[tuple[str, exp.Expr]]:
        """Yield the expressions of the SELECT with their labels, with `*` written out."""
        for node in self._parts.get("expressions", []):
            is_star = isinstance(node, exp.Star)
            of_table = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
            if not is_star and not of_table:
                yield label_of(node), node
                continue
            given(node.this if of_table else node)
            table = str(node.args["table"].this) if of_table else None
            yield from self._all_of(table, node)

    def _all_of(self, table: str | None, node: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
        sources = [
            (name, source) for name, source in self._sources if table is None or name == table
        ]
        if not sources:
            raise Refused("There is no table whose columns * could be.", place_of(node))
        for name, source in sources:
            for column in source.columns():
                this = exp.Identifier(this=column)
                of = exp.Identifier(this=name) if name else None
                yield column, exp.Column(this=this, table=of)

    def _distinct(self) -> str:
        if "distinct" not in self._parts:
            return ""
        given(self._parts["distinct"])
        return "DISTINCT "

    def _group(self) -> str:
        text = ""
        if "group" in self._parts:
            expressions = given(self._parts["group"], "expressions")["expressions"]
            text += f" GROUP BY {self._write.texts(expressions)}"
        if "having" in self._parts:
            text += f" HAVING {self._write.text(given(self._parts['having'], 'this')['this'])}"
        return text


def _plain(text: str, is_whole: bool) -> str:
    """Return a column of an answer, whose size the event store only limits if it is no constant."""
    return f"materialize({text})" if is_whole else text
