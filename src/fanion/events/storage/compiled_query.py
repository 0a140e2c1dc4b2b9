"""The running of statements compiled from a cohort's conditions or an insight's question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clickhouse_connect.driver.client import Client

from fanion.events.storage.client import Rows
from fanion.events.storage.rows_read import rows_read


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """The limits of one statement of an insight, for which a user waits.

    Groupings and sorts that take more than half of the memory continue on disk.

    Attributes:
        threads: 0 for as many as the store gives any statement.
    """

    seconds: int = 30
    memory_bytes: int = 10**9
    threads: int = 0

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
    limits: QuestionLimits,
) -> QuestionResult:
    settings = limits.settings
    answer = client.query(statement, dict(parameters), settings=settings, tz_mode="aware")
    return QuestionResult(answer.result_columns, rows_read(client, answer))
