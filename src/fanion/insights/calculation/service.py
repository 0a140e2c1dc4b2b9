"""The inputs of every calculation: the range, the cohorts that it names, and the stores."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from uuid import uuid4
from zoneinfo import ZoneInfo

from fanion.actions.conditions import require_actions_found
from fanion.actions.store import resolve_actions
from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.events.storage.store import EventStore
from fanion.insights.calculation.expressions_service import write_sql_of
from fanion.insights.calculation.statements_service import (
    IncompleteSession,
    Statements,
    UnreadableColumn,
)
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.parsing.conditions import project_conditions
from fanion.insights.query import (
    InsightQuery,
    actions_named,
    cohorts_named,
    scopes_of,
    with_actions,
    with_each_scope,
)
from fanion.insights.segments.store import resolve_segments
from fanion.insights.sql.compiler import SqlContext, Statement, names_of
from fanion.projects.model import Project
from fanion.properties.bindings import NO_COLUMNS, is_nested_code

_T = TypeVar("_T")
_Query = TypeVar("_Query", bound=InsightQuery)

FIRST_EVENT = """
  SELECT count(), min(timestamp)
    FROM events
   WHERE project_id = {project_id:UInt64}
     AND ({any_event:Bool} OR event IN {events:Array(String)})
"""


@dataclass(slots=True)
class RowsRead:
    """The rows that the statements of one calculation have read so far.

    Attributes:
        number: None once a statement did not tell.
    """

    number: int | None = 0

    def add(self, rows: int | None) -> None:
        self.number = None if rows is None or self.number is None else self.number + rows


@dataclass(frozen=True, slots=True)
class Calculation:
    """The calculation of one question.

    Every call raises EventStoreUnavailable, Unavailable or Invalid.
    """

    project: Project
    clock: RangeClock
    context: SqlContext
    events: EventStore
    records: Records
    statements: Statements
    rows_read: RowsRead = field(default_factory=RowsRead)

    @property
    def zone(self) -> ZoneInfo:
        return self.clock.zone

    @property
    def now(self) -> datetime:
        return self.clock.now

    async def rows(self, statement: Statement) -> list[tuple[Any, ...]]:
        return await self.statements.rows(self.project.id, statement)


class Analysis:
    """The beginning of every calculation.

    Every call raises EventStoreUnavailable, Unavailable, RecordsUnavailable or Invalid.

    Args:
        statements: The queue and limits that all questions of the server share; None for limits of
            its own.
    """

    def __init__(
        self, records: Records, events: EventStore, statements: Statements | None = None
    ) -> None:
        self.records = records
        self.events = events
        self.statements = Statements(events, events.people) if statements is None else statements

    async def begin(
        self, project: Project, query: _Query, now: datetime
    ) -> tuple[_Query, Calculation]:
        """Return the query with the conditions of the project, and what its calculation needs."""
        query = await resolve_query(self.records, project.id, query)
        query = with_test_account_filters(project, query)
        expressions = await write_sql_of(query, project.timezone)
        run, rows_read = uuid4(), RowsRead()
        statements = self.statements.counting(rows_read.add)
        statements = statements.with_sql_at([sent.place for sent in expressions])
        known = self.statements.columns
        columns = NO_COLUMNS if known is None else known.of_project(project.id)
        statements = statements.reading(columns)
        cohorts = cohorts_named(query)
        await CohortInputs(self.records, self.events).put_members(run, project.id, cohorts)
        is_all = any(scope.since.is_all for scope in scopes_of(query))
        first = await _first_event(statements, project.id, query.entities) if is_all else None
        clock = RangeClock(now, ZoneInfo(project.timezone), first, project.week_start_day)
        whole = project.id in self.statements.long_sessions
        share_keys = self.statements.copies_share_keys(project.id)
        found = whole, share_keys, columns, expressions
        context = SqlContext(project.id, query.scope, now, run, *found)
        stores = self.events, self.records
        return query, Calculation(project, clock, context, *stores, statements, rows_read)

    async def complete(self, project: Project, calculate: Callable[[], Awaitable[_T]]) -> _T:
        """Return what is calculated, from its beginning.

        It is calculated again with whole sessions where it needs them, and without columns of
        properties that it cannot read.

        Args:
            calculate: Calls `begin`.
        """
        while True:
            try:
                return await calculate()
            except IncompleteSession:
                self.statements.long_sessions.add(project.id)
            except UnreadableColumn as error:
                self._leave_out(project.id, error.code)

    def _leave_out(self, project_id: int, code: int) -> None:
        columns = self.statements.columns
        assert columns is not None  # no statement reads any without them
        if is_nested_code(code):
            columns.refuse(project_id, code)
        else:
            columns.forget()


async def _first_event(
    statements: Statements, project_id: int, entities: Collection[Entity]
) -> datetime | None:
    """Return the time of the oldest of these events."""
    names = names_of(entities)
    parameters: Mapping[str, Any] = {
        "project_id": project_id,
        "any_event": names is None,
        "events": names or [],
    }
    [(number, first)] = await statements.rows(project_id, Statement(FIRST_EVENT, parameters))
    return first if number else None


async def resolve_query(records: Records, project_id: int, query: _Query) -> _Query:
    """Return the question with the conditions of its segments and actions, as they are now.

    Raises:
        Invalid: There is no such segment or action, or there are too many conditions.
        RecordsUnavailable: The records store does not answer.
    """
    query = await resolve_segments(records, project_id, query)
    named = actions_named(query)
    if not named:
        return query
    actions = await resolve_actions(records, project_id, named)
    require_actions_found(named, actions)
    return with_actions(query, actions)


def require_few_numbers(numbers: int, most: int) -> None:
    """Raise Invalid if a result has more than `most` numbers."""
    if numbers > most:
        detail = f"The result has more than {most} numbers. Use a shorter date range."
        raise Invalid(detail, attr="interval")


def with_test_account_filters(project: Project, query: _Query) -> _Query:
    """Return the query with the project's conditions on test accounts, if it asks for them.

    Source: insights.md, section 2b.
    """
    if not any(scope.filter_test_accounts for scope in scopes_of(query)):
        return query
    own = project_conditions(project.test_account_filters)
    return with_each_scope(
        query, lambda scope: scope.with_conditions(own) if scope.filter_test_accounts else scope
    )
