"""The floor of analysis: the same questions over the same events as Parquet, in DuckDB.

It gets as many threads as the event store gives a question on an otherwise idle server.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import duckdb

ROUNDS = 5
_VIEWS = (
    "CREATE VIEW events AS SELECT * FROM read_parquet('{folder}/events-*.parquet')",
    "CREATE VIEW overrides AS SELECT * FROM read_parquet('{folder}/overrides.parquet')",
)


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

    def best_s(self, statements: Sequence[str]) -> float:
        """Return the time of the fastest round of all the statements."""
        return min(self._round(statements) for _ in range(ROUNDS))

    def _round(self, statements: Sequence[str]) -> float:
        started = perf_counter()
        for statement in statements:
            self._duckdb.execute(statement).fetchall()
        return perf_counter() - started

    def close(self) -> None:
        self._duckdb.close()
