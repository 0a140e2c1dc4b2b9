"""The floor of analysis: the same questions over the same events as Parquet, in DuckDB.

It gets as many threads as the event store gives a question on an otherwise idle server.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import duckdb

ROUNDS = 20
_VIEWS = (
    "CREATE VIEW events AS SELECT * FROM read_parquet('{folder}/events-*.parquet')",
    "CREATE VIEW overrides AS SELECT * FROM read_parquet('{folder}/overrides.parquet')",
)


@dataclass(frozen=True)
class FloorTime:
    """The medians of a round: seconds that passed, and processor time of all threads."""

    median_s: float
    processor_s: float


class Floor:
    """DuckDB over the events as Parquet.

    Args:
        parquet: The folder that `insights_events` made.
    """

    def __init__(self, parquet: Path) -> None:
        self._duckdb = duckdb.connect()
        self._duckdb.execute(f"SET threads = {os.cpu_count() or 1}")
        for view in _VIEWS:
            self._duckdb.execute(view.format(folder=parquet))

    def measure(self, statements: Sequence[str]) -> FloorTime:
        """Run all the statements in each round, after one round that warms the caches."""
        self._round(statements)
        rounds = [self._round(statements) for _ in range(ROUNDS)]
        seconds, processor = zip(*rounds, strict=True)
        return FloorTime(median(seconds), median(processor))

    def _round(self, statements: Sequence[str]) -> tuple[float, float]:
        started, used = perf_counter(), process_time()
        for statement in statements:
            self._duckdb.execute(statement).fetchall()
        return perf_counter() - started, process_time() - used

    def close(self) -> None:
        self._duckdb.close()
