"""The statement of a question in SQL, and what its answer consists of.

Source: insights.md, section 10.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from zoneinfo import ZoneInfo

from sqlglot import exp

from fanion.errors import Invalid
from fanion.insights.dates.intervals import DateRange
from fanion.insights.expressions.expressions_sql import Expressions
from fanion.insights.expressions.grammar import Refused, parse_expression, parse_order, parse_query
from fanion.insights.expressions.scope import Inputs, Names, Scope
from fanion.insights.hogql.query import ROWS, ROWS_MAX, ListOfEvents, SqlQuestion
from fanion.insights.hogql.select_sql import Statements
from fanion.insights.hogql.sources_sql import ALL_OF_EVENTS, EventsTable, Tables
from fanion.insights.hogql.trees import cohorts_named, reads_table
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement

_PERSON: Final = ("person.id", "person.created_at", "person.properties", "distinct_id")
_EXPANDED: Final[Mapping[str, tuple[str, ...]]] = {"*": ALL_OF_EVENTS, "person": _PERSON}
# The codes of errors; a client can tell by them what the text lacks.
_CODE: Final = "invalid_sql"

Part = Literal["value", "*", "person"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """A question whose texts are parsed, but not checked.

    Attributes:
        parts: What each column of the answer is made of, with the number of the statement's columns
            that it takes.
        cohorts: The cohorts that it names, by id or name.
        reads_cohorts: Whether it reads the table of cohorts.
    """

    question: SqlQuestion
    tree: exp.Query
    labels: Sequence[str]
    parts: Sequence[tuple[Part, int]]
    cohorts: Sequence[int | str]
    reads_cohorts: bool


@dataclass(frozen=True, slots=True)
class SqlStatement:
    """A statement to send.

    Attributes:
        labels: The columns of the answer.
        parts: As in `Parsed`.
        limit: The rows of the answer; the statement has one more, if there are more.
        is_newest_first: Whether it lists single events, the newest first.
    """

    statement: Statement
    labels: Sequence[str]
    parts: Sequence[tuple[Part, int]]
    limit: int
    offset: int
    is_newest_first: bool


@dataclass(frozen=True, slots=True)
class CohortRow:
    id: int
    name: str
    count: int
    is_static: bool


def parse_question(question: SqlQuestion) -> Parsed:
    """Parse the texts of a question. It takes up to a second, for the longest texts.

    Raises:
        Invalid: A text cannot be parsed.
    """
    labels: Sequence[str]
    parts: Sequence[tuple[Part, int]]
    try:
        if question.listed is None:
            tree, labels, parts = parse_query(question.text), (), ()
        else:
            tree, parts = _list_tree(question.listed)
            labels = question.listed.select
    except Refused as refused:
        raise refusal(refused, question) from None
    is_read = reads_table(tree, "cohorts")
    return Parsed(question, tree, labels, parts, cohorts_named(tree), is_read)


def write_statement(
    parsed: Parsed,
    context: SqlContext,
    zone: ZoneInfo,
    span: DateRange | None,
    cohorts: Sequence[CohortRow],
    since: datetime | None = None,
) -> SqlStatement:
    """Write the statement of a question.

    Args:
        span: The range of time that `{filters}` stands for.
        cohorts: The cohorts of the project, if the question names any.
        since: For a list of the newest events, the time from which it reads them; None for all.

    Raises:
        Invalid: The question has a part that is not allowed.
    """
    compiler = Compiler(context)
    filters = _filters(compiler, span)
    tables = Tables(compiler, Names(), compiler.bindings.text(zone.key), _rows(compiler, cohorts))
    known = {str(row.name): row.id for row in cohorts} | {row.id: row.id for row in cohorts}
    inputs = Inputs(parsed.question.values, known)
    try:
        return _written(parsed, Statements(tables, inputs, filters, since))
    except Refused as refused:
        raise refusal(refused, parsed.question) from None


def _written(parsed: Parsed, statements: Statements) -> SqlStatement:
    listed = parsed.question.listed
    if listed is not None:
        _group_and_order(parsed, statements)
    written = statements.query(parsed.tree)
    limit = listed.limit if listed is not None else min(_given(written.limit, ROWS), ROWS_MAX)
    offset = listed.offset if listed is not None else written.offset
    text = f"{written.text} LIMIT {limit + 1} OFFSET {offset}"
    labels = parsed.labels or [shown.label for shown in written.columns]
    parts = parsed.parts or [("value", 1)] * len(labels)
    compiler = statements.tables.compiler
    statement, newest = compiler.statement(text), written.is_newest_first
    return SqlStatement(statement, labels, parts, limit, offset, newest)


def _given(limit: int | None, default: int) -> int:
    return default if limit is None else limit


def _filters(compiler: Compiler, span: DateRange | None) -> str:
    if span is not None:
        return compiler.where(span, None)
    properties = compiler.context.scope.properties
    return "1" if properties is None else compiler.condition(properties)


def _rows(compiler: Compiler, cohorts: Sequence[CohortRow]) -> str:
    """Return what follows FROM to read the cohorts, which are in the records store."""
    bind = compiler.bindings
    columns = (
        bind.add([row.id for row in cohorts], "Array(UInt64)"),
        bind.texts([row.name for row in cohorts]),
        bind.add([row.count for row in cohorts], "Array(UInt64)"),
        bind.add([row.is_static for row in cohorts], "Array(Bool)"),
    )
    return f"(SELECT arrayJoin(arrayZip({', '.join(columns)})) AS cohort) AS cohorts"


# ── Lists of events ──────────────────────────────────────────────────────────────────────


def _list_tree(listed: ListOfEvents) -> tuple[exp.Select, Sequence[tuple[Part, int]]]:
    """Return a list of events as a SELECT, and what its columns are parts of."""
    expressions: list[exp.Expr] = []
    parts: list[tuple[Part, int]] = []
    for number, text in enumerate(listed.select):
        name = text.partition("--")[0].strip()
        if name in _EXPANDED:
            expressions += [_column(path) for path in _EXPANDED[name]]
            parts.append(("*" if name == "*" else "person", len(_EXPANDED[name])))
        else:
            expressions.append(parse_expression(text, f"select__{number}"))
            parts.append(("value", 1))
    conditions: list[exp.Expr] = [exp.Placeholder(this="filters")]
    if listed.event is not None:
        conditions.append(_equals("event", listed.event))
    if listed.person_id is not None:
        conditions.append(_equals("person_id", str(listed.person_id)))
    conditions += [
        parse_expression(text, f"where__{number}") for number, text in enumerate(listed.where)
    ]
    where = conditions[0]
    for condition in conditions[1:]:
        where = exp.And(this=where, expression=exp.Paren(this=condition))
    order = [parse_order(text, f"orderBy__{number}") for number, text in enumerate(listed.order)]
    table = exp.Table(this=exp.Identifier(this="events"))
    select = exp.Select(
        expressions=expressions, from_=exp.From(this=table), where=exp.Where(this=where)
    )
    if order:
        select.set("order", exp.Order(expressions=order))
    return select, parts


def _group_and_order(parsed: Parsed, statements: Statements) -> None:
    """Group by the plain columns beside an aggregate, and order a list that has no order."""
    plain: list[exp.Expr] = []
    aggregates: list[exp.Expr] = []
    for node in parsed.tree.expressions:
        is_aggregate = _is_aggregate(node, statements)
        (aggregates if is_aggregate else plain).append(node)
    if aggregates and plain:
        keys = [node.this if isinstance(node, exp.Alias) else node for node in plain]
        parsed.tree.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    if parsed.tree.args.get("order"):
        return
    first = aggregates[0] if aggregates else _column("timestamp")
    first = first.this if isinstance(first, exp.Alias) else first
    ordered = exp.Ordered(this=first.copy(), desc=True)
    parsed.tree.set("order", exp.Order(expressions=[ordered]))


def _is_aggregate(node: exp.Expr, statements: Statements) -> bool:
    """Return whether an expression has an aggregate, by writing it for a separate table."""
    scope = Scope([("events", EventsTable(statements.tables))])
    write = Expressions(statements.tables.lent, scope, statements, statements.inputs)
    write.text(node.this if isinstance(node, exp.Alias) else node)
    return write.has_aggregate


def _column(path: str) -> exp.Expr:
    names = [exp.Identifier(this=name) for name in path.split(".")]
    if len(names) == 1:
        return exp.Column(this=names[0])
    return exp.Column(this=names[1], table=names[0])


def _equals(name: str, value: str) -> exp.Expr:
    return exp.EQ(this=_column(name), expression=exp.Literal(this=value, is_string=True))


def refusal(refused: Refused, question: SqlQuestion) -> Invalid:
    """Return the error for a text that is refused, with its place in the request."""
    if question.listed is None:
        return Invalid(refused.placed(question.text), code=_CODE, attr=question.field)
    name = "" if refused.place is None else refused.place.field
    part, _, number = name.partition("__")
    texts = {
        "select": question.listed.select,
        "where": question.listed.where,
        "orderBy": question.listed.order,
    }.get(part, ())
    if not texts:
        return Invalid(refused.detail, code=_CODE, attr=question.field)
    place = f"{question.listed.fields[part]}__{number}"
    return Invalid(refused.placed(texts[int(number)]), code=_CODE, attr=place)


def row_of(row: Sequence[Any], parts: Sequence[tuple[Part, int]], raw: Any) -> list[Any]:
    """Return a row of the answer, with its objects.

    Args:
        raw: Makes a value of a text that is JSON.
    """
    values: list[Any] = []
    start = 0
    for part, size in parts:
        own = row[start : start + size]
        values.append(own[0] if part == "value" else _object(part, own, raw))
        start += size
    return values


def _object(part: Part, own: Sequence[Any], raw: Any) -> dict[str, Any]:
    if part == "*":
        found = dict(zip(ALL_OF_EVENTS, own, strict=True))
        return {**found, "properties": raw(found["properties"])}
    person_id, created_at, properties, distinct_id = own
    return {
        "uuid": person_id,
        "created_at": created_at if properties else None,
        "properties": raw(properties or "{}"),
        "distinct_id": distinct_id,
    }
