"""The statements of questions, as one server runs them in the event store.

Only a few run at once, within limits, and no longer than a client waits for the answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from fanion.errors import Invalid
from fanion.events.columns_worker import KnownColumns
from fanion.events.event import EventRejected, StatementFailed
from fanion.events.storage.compiled_query import QuestionLimits, QuestionResult, StatementResult
from fanion.events.storage.store import SECONDS_MAX
from fanion.events.turns.turns_service import Turns
from fanion.insights.calculation.looks_cache import Looks
from fanion.insights.expressions.failures import MEANINGS, VALUE_REJECTED
from fanion.insights.sessions.sql import INCOMPLETE_SESSION
from fanion.insights.sql.compiler import Statement
from fanion.properties.bindings import DedicatedColumns, is_nested_code

# The engine's error codes for too much time, and for too much memory or too many rows.
_TIME: Final = frozenset({159, 160})
_MEMORY: Final = frozenset({173, 241})
# Its codes for a column that a table, or that of a shard, does not have.
_NO_COLUMN: Final = frozenset({8, 10, 16, 47})
_SIZE: Final = _MEMORY | {158, 307, 396}


class IncompleteSession(Exception):
    """The error of a statement that would have cut a session off: it must read whole sessions."""


class UnreadableColumn(Exception):
    """The error of a statement that cannot read the column of a property.

    Attributes:
        code: The engine's.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class QuestionStore(Protocol):
    """The part of `EventStore` that statements need."""

    async def question(
        self, statement: str, parameters: Mapping[str, Any], limits: QuestionLimits, /
    ) -> QuestionResult: ...

    async def ask(
        self, statement: str, parameters: Mapping[str, Any], seconds_max: int, /
    ) -> StatementResult: ...


def _uncounted(rows: int | None) -> None:
    """Count nothing."""


@dataclass(slots=True)
class Statements:
    """The queue and the limits for the statements of one server.

    A cancelled statement is ended in the store too, and keeps its turn until then. Every call
    raises Unavailable, EventStoreUnavailable or Invalid.

    Attributes:
        columns: The columns of properties that statements may read; None for none.
        reads_columns: Whether the statements of this question may read any.
        threads: Returns how many threads a statement may use now; 0 for the store's own number.
        long_sessions: The projects whose questions have met long sessions.
        copies_share_keys: Returns whether all copies of a project's events share their key.
        count_read: Called with the number of rows that each statement read, None if not known.
        sql_at: The places in the request of the expressions in SQL that statements have.
        looks: The answers of `look`.
    """

    events: QuestionStore
    turns: Turns
    limits: QuestionLimits = field(default_factory=QuestionLimits)
    threads: Callable[[], int] = int
    long_sessions: set[int] = field(default_factory=set)
    copies_share_keys: Callable[[int], bool] = lambda _: False
    columns: KnownColumns | None = None
    reads_columns: bool = False
    count_read: Callable[[int | None], None] = _uncounted
    sql_at: Sequence[str] = ()
    looks: Looks = field(default_factory=Looks)

    def in_background(self, turns: Turns) -> "Statements":
        """Return a copy for work that no client waits for.

        Args:
            turns: The turns of such work.
        """
        return replace(self, turns=turns, threads=int)

    def with_time_limit(self, seconds: int) -> "Statements":
        """Return a copy with another time limit, in the same queue."""
        return replace(self, limits=replace(self.limits, seconds=seconds))

    def counting(self, count_read: Callable[[int | None], None]) -> "Statements":
        """Return a copy that tells how many rows its statements read, in the same queue."""
        return replace(self, count_read=count_read)

    def reading(self, columns: DedicatedColumns) -> "Statements":
        """Return a copy for statements that may read these columns, in the same queue."""
        return replace(self, reads_columns=bool(columns.keys))

    def with_sql_at(self, places: Sequence[str]) -> "Statements":
        """Return a copy for statements with expressions of users, in the same queue."""
        return replace(self, sql_at=places)

    async def rows(self, project_id: int, statement: Statement) -> list[tuple[Any, ...]]:
        """Return the rows of the answer, by the smaller statement where memory does not suffice.

        Raises:
            IncompleteSession: The statement does not read whole sessions, and met a long one.
            UnreadableColumn: The statement cannot read the column of a property.
        """
        sql_of = project_id if self.sql_at else None
        limits = replace(self.limits, threads=self.threads(), sql_of=sql_of)
        try:
            async with self.turns.turn(project_id):
                answer = await self.events.question(statement.text, statement.parameters, limits)
        except EventRejected:
            raise self._rejected() from None
        except StatementFailed as error:
            if error.code == INCOMPLETE_SESSION:
                raise IncompleteSession from None
            if self._is_of_columns(error.code):
                raise UnreadableColumn(error.code) from None
            if error.code in _MEMORY and statement.smaller is not None:
                return await self.rows(project_id, statement.smaller)
            raise self._too_large(error) from None
        self.count_read(answer.rows_read)
        return list(zip(*answer.columns, strict=True))

    async def look(self, project_id: int, statement: Statement) -> list[tuple[Any, ...]]:
        """Return the rows of a statement that many questions ask in the same words.

        It runs once as long as nothing is written. Raises as `rows` does.
        """
        known = self.looks.get(statement)
        if known is not None:
            return known
        async with self.turns.turn(project_id):
            known = self.looks.get(statement)  # asked by another question meanwhile
            if known is None:
                number = self.looks.written()
                known = await self.rows(project_id, statement)
                self.looks.put(statement, number, known)
            return known

    async def members(
        self,
        project_id: int,
        text: str,
        parameters: Mapping[str, Any],
        seconds_max: int = SECONDS_MAX,
    ) -> StatementResult:
        """Return the answer to a statement of a cohort, with the limits of calculations.

        Raises as `EventStore.ask` does, and Unavailable.
        """
        async with self.turns.turn(project_id):
            return await self.events.ask(text, parameters, seconds_max)

    def _is_of_columns(self, code: int) -> bool:
        return (self.reads_columns and code in _NO_COLUMN) or is_nested_code(code)

    def _rejected(self) -> Invalid:
        if self.sql_at:
            return self._wrong_sql(VALUE_REJECTED)
        return Invalid("A filter compares a property with a value of another type.")

    def _wrong_sql(self, detail: str) -> Invalid:
        """Return the error for expressions of users, at one of which the engine has stopped."""
        if len(self.sql_at) > 1:
            detail = f"{detail} It is in one of: {', '.join(self.sql_at)}."
        return Invalid(detail, code="invalid_sql", attr=self.sql_at[0])

    def _too_large(self, error: StatementFailed) -> Exception:
        limits = self.limits
        if error.code in _TIME:
            reached = f"takes longer than {limits.seconds} seconds"
        elif error.code in _SIZE:
            reached = f"takes more than {limits.memory_bytes // 10**6} MB of memory"
        elif self.sql_at:
            meaning = MEANINGS.get(error.code, "The event store cannot run the query.")
            return self._wrong_sql(f"{meaning} ({error})")
        else:
            return error
        detail = f"The question {reached}. Use a shorter date range, or fewer events and values."
        return Invalid(detail, code="too_large", attr="date_from")
