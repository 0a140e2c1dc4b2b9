"""Questions of cohorts: who they are, and the members of static cohorts that a question needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from clickhouse_connect.driver.client import Client

# A calculation may read years of events; no request waits for it.
SECONDS_MAX: Final = 300
# Of one insert; 48 bytes each.
INPUTS_MAX: Final = 100_000

_COLUMNS = ("run", "cohort_id", "person_id")


@dataclass(frozen=True, slots=True)
class Found:
    """columns: of the answer

    rows_read: those that the index could not rule out; 0 when they were not asked for
    """

    columns: Sequence[Sequence[Any]]
    rows_read: int


def ask(
    client: Client,
    statement: str,
    parameters: Mapping[str, Any],
    seconds_max: int,
    estimated: bool,
) -> Found:
    settings = {"max_execution_time": seconds_max}
    answer = client.query(statement, dict(parameters), settings=settings)
    if not estimated:
        return Found(answer.result_columns, 0)
    # The embedded engine's own figure is that of the answer's rows.
    tables = client.query(f"EXPLAIN ESTIMATE {statement}", dict(parameters))
    return Found(answer.result_columns, sum(int(row[3]) for row in tables.result_rows))


def put_inputs(client: Client, run: UUID, cohort_id: int, members: Sequence[str]) -> None:
    """Members of one static cohort, for the statements of one calculation; they expire after a day.

    members: UUIDs in hexadecimal digits, with or without hyphens
    """
    before = f"{run}\t{cohort_id}\t"
    lines = before + f"\n{before}".join(members) + "\n"
    client.raw_insert("cohort_inputs", _COLUMNS, lines.encode(), {}, fmt="TabSeparated")
