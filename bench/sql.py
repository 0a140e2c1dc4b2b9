"""The guard of users' SQL: parsing a query, checking it, and rewriting it.

The floor is the limit for each query, ten milliseconds.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from time import perf_counter_ns
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from bench.report import Row, best_ns
from fanion.insights.hogql.query import read_hogql
from fanion.insights.hogql.statement_sql import parse_question, write_statement
from fanion.insights.parsing.fields import Fields
from fanion.insights.query import Scope
from fanion.insights.sql.compiler import SqlContext

TARGET_NS: Final = 10e6
CALLS: Final = 5
TEXTS: Final = {
    "a count": "select event, count() from events group by event order by 2 desc",
    "a filtered list": "select * from events where event = 'paid' and properties.plan = 'pro' "
    "and timestamp > now() - interval 7 day order by timestamp desc limit 100",
    "persons by day": "select toStartOfDay(timestamp) as day, uniq(person_id), "
    "countIf(properties.$browser = 'Firefox') from events where {filters} group by 1 order by 1",
    "a join of WITH": "with first as (select person_id, min(timestamp) as at from events "
    "where event = 'signed up' group by person_id) select e.properties.plan, "
    "e.person.properties.a, avg(dateDiff('day', first.at, e.timestamp)) from events e "
    "join first on e.person_id = first.person_id where e.event in ('paid', 'renewed') "
    "group by 1, 2 having count() > 10",
}
_CONTEXT: Final = SqlContext(1, Scope(), datetime(2026, 5, 30, tzinfo=UTC), UUID(int=1))


def run() -> Iterator[Row]:
    for name, text in TEXTS.items():
        _guard(text)  # loads the parser
        took = best_ns(partial(_guard, text), calls=CALLS)
        shown = f"{took / 1e6:.1f} ms"
        yield Row(f"SQL, {name}", shown, f"{TARGET_NS / 1e6:g} ms", TARGET_NS / took, 1.0)
    yield _longest()


def _guard(text: str) -> None:
    question = read_hogql(Fields({"query": text}))
    write_statement(parse_question(question), _CONTEXT, ZoneInfo("Europe/Berlin"), None, ())


def _longest() -> Row:
    """Return the row of a text of nearly as many words as one may have."""
    text = f"select {', '.join(f'x{number} + 1' for number in range(1_200))} from events"
    question = read_hogql(Fields({"query": text}))
    start = perf_counter_ns()
    parse_question(question)
    took = perf_counter_ns() - start
    return Row("SQL, the longest text", f"{took / 1e6:.0f} ms", "1000 ms", 1e9 / took, 1.0)
