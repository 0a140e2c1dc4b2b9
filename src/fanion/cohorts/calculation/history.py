"""The history of calculations and imports that is stored with a cohort.

source: cohorts.md section 17, `calculation_history`
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

# Of one cohort: five hours of one that is calculated every 15 minutes.
RUNS_MAX = 20
# Of the newest import; of older ones only the number is stored.
UNMATCHED_MAX = 1_000
UNMATCHED_CHARS_MAX = 200


class ImportedRows(Struct, kw_only=True):
    """Rows of imported files. matched: those with the id of a person

    unmatched: contents of the others, each once, at most UNMATCHED_MAX
    """

    rows: int
    matched: int
    unmatched: list[str]


class CalculationRun(Struct, kw_only=True, omit_defaults=True):
    """number: of the version that was calculated; error: why it failed; members: after it"""

    number: int = 0
    started_at: datetime
    seconds: float
    rows_read: int = 0
    members: int | None = None
    error: str | None = None
    imported: ImportedRows | None = None


@dataclass(slots=True)
class RowCounter:
    """Counts the rows of an import. is_file: whether it had a file"""

    rows: int = 0
    matched: int = 0
    is_file: bool = False
    _unmatched: dict[str, None] = field(default_factory=dict)

    def count(self, ids: Iterable[str], unmatched: Collection[str]) -> None:
        """ids: of some rows; unmatched: those among them without a person"""
        self.is_file = True
        for one in ids:
            self.rows += 1
            if one not in unmatched:
                self.matched += 1
            elif len(self._unmatched) < UNMATCHED_MAX:
                self._unmatched[one[:UNMATCHED_CHARS_MAX]] = None

    def result(self) -> ImportedRows | None:
        if not self.is_file:
            return None
        return ImportedRows(rows=self.rows, matched=self.matched, unmatched=list(self._unmatched))


# The JSON of the column: the fields of the last successful run, and all runs as `runs`.
StoredRuns = Mapping[str, Any] | None


def with_run(stored: StoredRuns, run: CalculationRun) -> dict[str, Any]:
    """The stored value after one more run."""
    earlier = read_runs(stored)[: RUNS_MAX - 1]
    if run.imported is not None:
        for one in earlier:
            if one.imported is not None:
                one.imported.unmatched = []
    succeeded = run if run.error is None else last_successful_run(stored)
    own: dict[str, Any] = {} if succeeded is None else msgspec.to_builtins(succeeded)
    own.pop("imported", None)
    return {**own, "runs": msgspec.to_builtins([run, *earlier])}


def read_runs(stored: StoredRuns) -> list[CalculationRun]:
    """The newest first. Older versions of Fanion stored only the last successful one."""
    if stored is None:
        return []
    if "runs" in stored:
        return msgspec.convert(stored["runs"], list[CalculationRun])
    return [msgspec.convert(dict(stored), CalculationRun)]


def last_successful_run(stored: StoredRuns) -> CalculationRun | None:
    if stored is None or "started_at" not in stored:
        return None
    own = {name: value for name, value in stored.items() if name != "runs"}
    return msgspec.convert(own, CalculationRun)
