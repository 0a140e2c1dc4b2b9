"""Answers to questions in SQL, asked once or saved as an insight.

Source: insights.md, section 10.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final
from zoneinfo import ZoneInfo

import msgspec
import structlog
from sqlalchemy import select

from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.db.engine import Records
from fanion.db.schema.cohorts import cohorts
from fanion.errors import Invalid
from fanion.events.event import EventRejected, StatementFailed
from fanion.events.storage.compiled_query import TableLimits, TableResult
from fanion.insights.calculation.expressions_service import in_sql_thread
from fanion.insights.calculation.kind_service import Kind
from fanion.insights.calculation.service import Analysis, Calculation
from fanion.insights.calculation.statements_service import IncompleteSession, UnreadableColumn
from fanion.insights.expressions.failures import MEANINGS, VALUE_REJECTED
from fanion.insights.hogql.query import HOGQL_QUERY, ROWS_MAX, SqlQuestion, read_hogql
from fanion.insights.query import InsightQuery
from fanion.insights.sessions.sql import INCOMPLETE_SESSION
from fanion.insights.sql.compiler import Statement
from fanion.projects.model import Project
from fanion.properties.bindings import Bindings, is_nested_code

if TYPE_CHECKING:
    from fanion.insights.hogql.statement_sql import CohortRow, Parsed, SqlStatement

RESULT_BYTES_MAX: Final = 16 * 2**20
# Quotes and escapes take up to twice the bytes.
JSON_BYTES_MAX: Final = 2 * RESULT_BYTES_MAX
# A larger answer is not kept for the next time.
KEPT_BYTES_MAX: Final = 256 * 2**10
COHORTS_MAX: Final = 10_000
# A list of the newest events is asked of fewer days at most so often, the second time of as many
# as have enough events if all are like the first one, times SPARE.
NARROW_MAX: Final = 2
SPARE: Final = 2
DAYS_MAX: Final = 60
# In the order of the key, of which the engine reads the end.
_LAST_DAY: Final = """
  SELECT toDateTime64(toDate32(timestamp) + 1, 6, 'UTC')
    FROM events
   WHERE project_id = {project}
     AND timestamp < {until}
ORDER BY project_id DESC, toDate32(timestamp) DESC
   LIMIT 1
"""
_TIME: Final = frozenset({159, 160})
# A type of time that does not say its zone.
_ZONELESS: Final = re.compile(r"DateTime(64\(\d\))?(?![\d(])")
_ROWS_OR_BYTES: Final = frozenset({158, 307, 396})
_MEMORY: Final = frozenset({173, 241})


@dataclass(frozen=True, slots=True)
class SqlCalculator:
    """The calculation of questions in SQL.

    Attributes:
        timer: A clock, in seconds.
    """

    analysis: Analysis
    timer: Callable[[], float] = perf_counter

    async def answer(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> Mapping[str, Any]:
        """Return the rows as JSON, and what there is beside them.

        Raises:
            Invalid: The text is wrong, or asks for too much.
            EventStoreUnavailable: The event store does not answer.
            RecordsUnavailable: The records store does not answer.
        """
        assert isinstance(query, SqlQuestion)
        started = self.timer()
        parsed: Parsed = await in_sql_thread(_parse, query)
        answer = await self.analysis.complete(project, partial(self._answer, project, parsed, now))
        seconds = round(self.timer() - started, 3)
        structlog.get_logger().info(
            "sql_answered",
            project_id=project.id,
            seconds=seconds,
            rows_read=answer["rows_read"],
            bytes=len(answer["results"]),
        )
        return {**answer, "seconds": seconds}

    async def _answer(self, project: Project, parsed: "Parsed", now: datetime) -> dict[str, Any]:
        question, calculation = await self.analysis.begin(project, parsed.question, now)
        return await _calculate(calculation, replace(parsed, question=question))


async def calculate_saved(calculation: Calculation, query: SqlQuestion) -> dict[str, Any]:
    """Return the answer to a question that is saved as an insight.

    Its rows are kept with it, so that there may be less of them than `SqlCalculator` returns.

    Raises:
        Invalid: The text is wrong, or asks for too much.
    """
    answer = await _calculate(calculation, await in_sql_thread(_parse, query))
    calculation.rows_read.add(answer["rows_read"])
    if len(answer["results"]) > KEPT_BYTES_MAX:
        detail = f"The answer of a saved query is larger than {KEPT_BYTES_MAX // 2**10} KiB."
        raise _too_large(detail)
    return {**answer, "results": await in_sql_thread(msgspec.json.decode, answer["results"])}


async def check_text(query: SqlQuestion) -> None:
    """Raise Invalid for a text that cannot be parsed."""
    await in_sql_thread(_parse, query)


SQL: Final = Kind(
    name=HOGQL_QUERY,
    query=SqlQuestion,
    read=read_hogql,
    calculate=calculate_saved,
    check=check_text,
)


async def _calculate(calculation: Calculation, parsed: "Parsed") -> dict[str, Any]:
    """Return the answer, its rows as JSON.

    Args:
        parsed: Its question has the conditions of the project on test accounts.
    """
    question = parsed.question
    rows = await _cohorts(calculation, parsed)
    span = question.whole_span(calculation.clock)
    write = partial(_write, parsed, calculation.context, calculation.zone, span, rows)
    statement: SqlStatement = await in_sql_thread(write)
    if statement.is_newest_first:
        until = calculation.now if span is None else min(calculation.now, span.end)
        result = await _run_newest(calculation, statement, write, until)
    else:
        result = await _run(calculation, statement)
    encoded: dict[str, Any] = await in_sql_thread(_encoded, statement, result, calculation.zone)
    return encoded


async def _run_newest(
    calculation: Calculation,
    statement: "SqlStatement",
    write: "Callable[[datetime], SqlStatement]",
    until: datetime,
) -> TableResult:
    """Run a list of the newest events: over the last day alone if it has enough of them.

    Args:
        write: Returns the statement that only reads the events since some time.
        until: Later events count as well, but are not expected.
    """
    read: int | None = 0
    days: int | None = 1
    project_id = calculation.project.id
    last = await calculation.statements.look(project_id, _last_day(project_id, until))
    for _ in range(NARROW_MAX):
        if days is None or not last:
            break
        narrow = await in_sql_thread(write, min(last[0][0], until) - timedelta(days=days))
        result = await _run(calculation, narrow)
        read = _sum(read, result.rows_read)
        if len(result.rows) > statement.limit:
            return replace(result, rows_read=read)
        days = _days_with_enough(days, statement, len(result.rows))
    result = await _run(calculation, statement)
    return replace(result, rows_read=_sum(read, result.rows_read))


def _last_day(project_id: int, until: datetime) -> Statement:
    """Return the statement of the end of the last day until then on which a project has events.

    It is the same all day.
    """
    bind = Bindings()
    end = datetime.combine(until.astimezone(UTC).date() + timedelta(days=1), time.min, UTC)
    project = bind.add(project_id, "UInt64")
    return Statement(_LAST_DAY.format(project=project, until=bind.time(end)), bind.values)


def _days_with_enough(days: int, statement: "SqlStatement", rows: int) -> int | None:
    """Return how many days may have all rows of a list, None if reading them saves too little.

    Args:
        days: Those after which it had so many rows.
    """
    if not rows:
        return None
    wanted = statement.offset + statement.limit + 1
    more = math.ceil(SPARE * days * wanted / (statement.offset + rows))
    return more if more <= DAYS_MAX else None


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


async def _cohorts(calculation: Calculation, parsed: "Parsed") -> "Sequence[CohortRow]":
    """Return the cohorts of the project, with the members of those that the text names."""
    if not (parsed.cohorts or parsed.reads_cohorts):
        return ()
    rows = await _load_cohorts(calculation.records, calculation.project.id)
    named = [row.id for row in rows if row.id in parsed.cohorts or row.name in parsed.cohorts]
    inputs = CohortInputs(calculation.records, calculation.events)
    await inputs.put_members(calculation.context.run, calculation.project.id, named)
    return rows


def _parse(question: SqlQuestion) -> "Parsed":
    # The parser takes a tenth of a second to load, and most servers never need it.
    from fanion.insights.hogql.statement_sql import parse_question

    return parse_question(question)


def _write(*arguments: Any) -> "SqlStatement":
    from fanion.insights.hogql.statement_sql import write_statement

    return write_statement(*arguments)


async def _load_cohorts(records: Records, project_id: int) -> "Sequence[CohortRow]":
    from fanion.insights.hogql.statement_sql import CohortRow

    of = cohorts.c
    statement = (
        select(of.id, of.name, of.count.label("members"), of.is_static)
        .where(of.project_id == project_id, of.deleted.is_(False))
        .order_by(of.id)
        .limit(COHORTS_MAX)
    )
    return [
        CohortRow(row.id, row.name or "", row.members or 0, row.is_static)
        for row in await records.fetch(statement)
    ]


async def _run(calculation: Calculation, statement: "SqlStatement") -> TableResult:
    statements = calculation.statements
    of = calculation.project.id
    question = replace(statements.limits, threads=statements.threads(), sql_of=of)
    limits = TableLimits(question, ROWS_MAX + 1, RESULT_BYTES_MAX, calculation.zone.key)
    sent = statement.statement
    try:
        async with statements.turns.turn(calculation.project.id):
            return await calculation.events.table(sent.text, sent.parameters, limits)
    except EventRejected:
        raise Invalid(VALUE_REJECTED, code="invalid_sql", attr="query") from None
    except StatementFailed as error:
        if error.code == INCOMPLETE_SESSION:
            raise IncompleteSession from None
        if is_nested_code(error.code):
            raise UnreadableColumn(error.code) from None
        raise _refused(error, limits) from None


def _refused(error: StatementFailed, limits: TableLimits) -> Invalid:
    """Return the error for a statement that the engine has ended."""
    if error.code in _TIME:
        detail = f"The query takes longer than {limits.question.seconds} seconds."
    elif error.code in _MEMORY:
        detail = f"The query takes more than {limits.question.memory_bytes // 10**6} MB of memory."
    elif error.code in _ROWS_OR_BYTES:
        detail = f"The answer is larger than {limits.bytes // 2**20} MiB."
    else:
        meaning = MEANINGS.get(error.code, "The event store cannot run the query.")
        return Invalid(f"{meaning} ({error})", code="invalid_sql", attr="query")
    return _too_large(detail)


def _too_large(detail: str) -> Invalid:
    return Invalid(f"{detail} Ask for fewer rows or days.", code="too_large", attr="query")


def _encoded(statement: "SqlStatement", result: TableResult, zone: ZoneInfo) -> dict[str, Any]:
    """Return the answer, its rows as JSON."""
    from fanion.insights.hogql.statement_sql import row_of

    times = [index for index, name in enumerate(result.types) if _ZONELESS.search(name)]
    rows = (
        row_of(_in_zone(row, times, zone), statement.parts, _raw)
        for row in result.rows[: statement.limit]
    )
    return {
        "results": _json(rows),
        "columns": list(statement.labels),
        "types": _types(statement, result.types),
        "hasMore": len(result.rows) > statement.limit,
        "limit": statement.limit,
        "offset": statement.offset,
        "rows_read": result.rows_read,
    }


def _in_zone(row: Sequence[Any], times: Sequence[int], zone: ZoneInfo) -> Sequence[Any]:
    """Return a row whose times of types without a zone are in the zone of the project."""
    if not times:
        return row
    values = list(row)
    for index in times:
        if isinstance(values[index], datetime):
            values[index] = values[index].astimezone(zone)
    return values


def _types(statement: "SqlStatement", types: Sequence[str]) -> list[list[str]]:
    found, start = [], 0
    for label, (part, size) in zip(statement.labels, statement.parts, strict=True):
        found.append([label, _plain_type(types[start]) if part == "value" else "Tuple"])
        start += size
    return found


def _plain_type(name: str) -> str:
    """Return a type without how it is stored."""
    within = name.removeprefix("LowCardinality(")
    return name if within == name else within.removesuffix(")")


def _raw(text: str) -> msgspec.Raw:
    return msgspec.Raw(text.encode("utf-8", "replace"))


def _json(rows: Iterable[Sequence[Any]]) -> bytes:
    """Return the rows as JSON.

    Raises:
        Invalid: They are too large. The event store does not count a text twice whose column holds
            it once.
    """
    written = bytearray(b"[")
    for row in rows:
        written += b"," if len(written) > 1 else b""
        written += _json_of_row(row)
        if len(written) > JSON_BYTES_MAX:
            raise _too_large(f"The answer is larger than {RESULT_BYTES_MAX // 2**20} MiB.")
    return bytes(written + b"]")


def _json_of_row(row: Sequence[Any]) -> bytes:
    try:
        return msgspec.json.encode(row, enc_hook=str)
    except (OverflowError, TypeError, ValueError):
        return msgspec.json.encode(_plain(row), enc_hook=str)


def _plain(value: Any) -> Any:
    """Return a value whose numbers JSON can write: those of more than 64 bits become texts."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(name): _plain(part) for name, part in value.items()}
    is_large = isinstance(value, int) and not -(2**63) <= value < 2**64
    return str(value) if is_large else value
