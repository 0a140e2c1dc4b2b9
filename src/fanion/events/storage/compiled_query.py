"""The running of statements compiled from a cohort's conditions or an insight's question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Rows
from fanion.events.storage.rows_read import rows_read


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """The limits of one statement of an insight, for which a user waits.

    Groupings and sorts that take more than half of the memory continue on disk.

    Attributes:
        threads: 0 for as many as the store gives any statement.
        sql_of: The project of people who wrote SQL of the statement; None if nobody did.
    """

    seconds: int = 30
    memory_bytes: int = 10**9
    threads: int = 0
    sql_of: int | None = None

    @property
    def settings(self) -> dict[str, int]:
        spill = self.memory_bytes // 2
        threads = {"max_threads": self.threads} if self.threads else {}
        return {
            **threads,
            "max_execution_time": self.seconds,
            "max_memory_usage": self.memory_bytes,
            "max_bytes_before_external_group_by": spill,
            "max_bytes_before_external_sort": spill,
            # Copies of an event have one day, and so one month, which is what partitions hold.
            "do_not_merge_across_partitions_select_final": 1,
            # Analysis passes that find nothing to improve in these statements, and take up to a
            # quarter of its time.
            "optimize_and_compare_chain": 0,
            "optimize_syntax_fuse_functions": 0,
            "optimize_group_by_function_keys": 0,
            # By its code the error names the property whose column cannot be read.
            "allow_custom_error_code_in_throwif": 1,
        }


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The answer to a statement.

    Attributes:
        columns: The columns of the answer.
        rows_read: The rows that the index could not rule out; 0 if the number was not requested.
    """

    columns: Sequence[Sequence[Any]]
    rows_read: int


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The answer to a statement of an insight.

    Attributes:
        columns: The columns of the answer.
        rows_read: The rows that the statement read; None if the engine does not tell.
    """

    columns: Rows
    rows_read: int | None


# Older servers know neither these settings nor what they are for.
_NEWER: Final[Mapping[str, int]] = {
    # With it, a long text that a join repeats counts once for `max_result_bytes`.
    "enable_lazy_columns_replication": 0,
    # In engine 26.9 the rows that an inner join filters early are remembered as rows that the
    # condition on the project excludes: later statements did not find them.
    "use_query_condition_cache": 0,
}


@dataclass(frozen=True, slots=True)
class TableLimits:
    """The limits of a statement that was made of SQL of a user.

    Attributes:
        question: The limits of time, memory and threads.
        zone: The time zone of what the statement does not say otherwise.
    """

    question: QuestionLimits
    rows: int
    bytes: int
    zone: str

    @property
    def settings(self) -> dict[str, int | str]:
        return {
            **self.question.settings,
            "session_timezone": self.zone,
            "max_result_rows": self.rows,
            "max_result_bytes": self.bytes,
            "result_overflow_mode": "throw",
            "function_range_max_elements_in_block": 10_000_000,
            "max_columns_to_read": 1_000,
            # From here on the statement can neither write nor change a setting, nor read a file or
            # another host by a table function. Its text has none of that anyway.
            "readonly": 1,
        }


@dataclass(frozen=True, slots=True)
class TableResult:
    """The answer to a statement that was made of SQL of a user.

    Attributes:
        types: The engine's types of the columns.
        rows_read: As in `QuestionResult`.
    """

    types: Sequence[str]
    rows: Rows
    rows_read: int | None


def run_table(
    client: Client, statement: str, parameters: Mapping[str, Any], own: Mapping[str, int | str]
) -> TableResult:
    settings = {**_newer(client), **own}
    answer = client.query(statement, dict(parameters), settings=settings, tz_mode="aware")
    types = [kind.name for kind in answer.column_types]
    if not types:  # an answer without rows has no columns either
        described = client.query(f"DESCRIBE ({statement})", dict(parameters), settings=settings)
        types = [str(row[1]) for row in described.result_rows]
    return TableResult(types, answer.result_rows, rows_read(client, answer))


def _newer(client: Client) -> Mapping[str, int]:
    return {name: value for name, value in _NEWER.items() if name in client.server_settings}


def run_compiled(
    client: Client,
    statement: str,
    parameters: Mapping[str, Any],
    seconds_max: int,
    estimated: bool,
) -> StatementResult:
    settings = {"max_execution_time": seconds_max}
    answer = client.query(statement, dict(parameters), settings=settings, tz_mode="aware")
    if not estimated:
        return StatementResult(answer.result_columns, 0)
    tables = client.query(f"EXPLAIN ESTIMATE {statement}", dict(parameters))
    return StatementResult(answer.result_columns, sum(int(row[3]) for row in tables.result_rows))


def run_question(
    client: Client,
    statement: str,
    parameters: Mapping[str, Any],
    settings: Mapping[str, int | str],
) -> QuestionResult:
    if "readonly" in settings:  # by the user with row policies, whose conditions are such, too
        settings = {**_newer(client), **settings}
    answer = client.query(statement, dict(parameters), settings=dict(settings), tz_mode="aware")
    return QuestionResult(answer.result_columns, rows_read(client, answer))
