"""The kept rows of sessions, as a question finds them."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from fanion.events.event import EventStoreUnavailable
from fanion.events.storage.session_rows_sql import FACTS, LAST_MUTATION, facts_of
from fanion.insights.calculation.statements_service import Statements
from fanion.insights.dates.intervals import DateRange
from fanion.insights.sql.compiler import Statement
from fanion.insights.web_analytics.kept_sql import (
    READ_MAX,
    KeptRows,
    are_short,
    changed_statement,
    days_of,
    unfit_statement,
)


async def rows_from_kept(
    statements: Statements,
    project_id: int,
    spans: Sequence[DateRange],
    statement: Callable[[KeptRows], Statement],
    *,
    of_views: bool = False,
) -> list[tuple[Any, ...]] | None:
    """Return the rows of a statement about some ranges, None if it must read all events.

    Rows of sessions are deleted only after a mutation. So if there was none when the statement had
    ended, it has read them all. Without any write there was no mutation.

    Args:
        of_views: Whether the statement reads the views of sessions.
    """
    number = statements.looks.written()
    kept = await find_kept_rows(statements, project_id, spans, of_views=of_views)
    if kept is None:
        return None
    rows = await statements.rows(project_id, statement(kept))
    if number is not None and number == statements.looks.written():
        return rows
    [(last_mutation,)] = await statements.rows(project_id, Statement(LAST_MUTATION, {}))
    return rows if last_mutation <= kept.last_mutation else None


async def find_kept_rows(
    statements: Statements,
    project_id: int,
    spans: Iterable[DateRange],
    *,
    of_views: bool = False,
) -> KeptRows | None:
    """Return what a question about some ranges may read, None if it must read all events.

    The sessions with new events are known before the rows are read, so a session that is not among
    them has a row that is right.
    """
    try:
        [row] = await statements.look(project_id, Statement(FACTS, {}))
    except EventStoreUnavailable:
        # An account of a ClickHouse server may not see parts and mutations. The worker logs that.
        return None
    facts, state = facts_of(row)
    if not state.is_usable(facts):
        return None
    times: list[tuple[str, datetime, datetime]] = []
    if facts.last_insert > state.last_insert:
        times += await statements.look(project_id, changed_statement(project_id, state.last_insert))
    changed = [session_id for session_id, _, _ in times]
    if len(changed) > READ_MAX:
        return None
    times += await statements.look(
        project_id, unfit_statement(project_id, spans, changed, of_views=of_views)
    )
    return _kept(state.last_mutation, times)


def _kept(last_mutation: int, times: Sequence[tuple[str, datetime, datetime]]) -> KeptRows | None:
    ids = {session_id for session_id, _, _ in times}
    if len(ids) > READ_MAX:
        return None
    days = days_of((first, last) for _, first, last in times)
    earliest = min((first for _, first, _ in times), default=None)
    return KeptRows(last_mutation, sorted(ids), days, are_short(times), earliest)
