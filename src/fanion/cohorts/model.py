"""Cohorts as they are stored, with pending imports of members and the history of calculations, and
queries for cohorts.

source: cohorts.md sections 2 and 17
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

import msgspec
from msgspec import Struct

from fanion.cohorts.criteria.definition import Criteria
from fanion.errors import Invalid
from fanion.projects.model import UserSummary
from fanion.rest.unknown_fields import shortened

# What the rows of an uploaded file are.
IdKind = Literal["distinct_id", "person_id", "email"]
CohortKind = Literal["static", "dynamic"]
# Calculations in the history of a cohort: five hours of one that is calculated every 15 minutes.
RUNS_MAX = 20
# Unmatched rows of the newest import in it; of older imports only their number is stored.
UNMATCHED_MAX = 1_000
UNMATCHED_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class StoredCohort:
    """version: of the current members, 0 before the first; requested: the newest one requested"""

    id: int
    criteria: Criteria
    project_id: int
    description: str
    deleted: bool
    is_calculating: bool
    count: int | None
    last_calculation: datetime | None
    errors_calculating: int
    last_error_message: str | None
    created_at: datetime
    version: int
    requested: int
    created_by: UserSummary | None

    def compared(self) -> dict[str, Any]:
        """The fields whose changes are recorded in the activity."""
        criteria = self.criteria
        return {
            "name": criteria.name,
            "description": self.description,
            "filters": criteria.filters,
            "groups": list(criteria.groups),
            "is_static": criteria.is_static,
            "deleted": self.deleted,
        }


@dataclass(frozen=True, slots=True)
class CohortState:
    """The state of a cohort before a change.

    requested: number of its newest calculation
    waits:     whether it has pending imports
    """

    criteria: Criteria
    deleted: bool
    requested: int
    waits: bool


# The text is a flag's id, or the JSON of an insight or of a query.
ImportQueryKind = Literal["flag", "insight", "query"]


@dataclass(frozen=True, slots=True)
class ImportQuery:
    """A query in the background whose persons become members."""

    kind: ImportQueryKind
    text: str


@dataclass(frozen=True, slots=True)
class MembersImport:
    """Members for a static cohort: of an uploaded file, of another cohort as it is now, or those
    that a query finds."""

    upload_id: int | None = None
    source_id: int | None = None
    query: ImportQuery | None = None


@dataclass(frozen=True, slots=True)
class PendingImport:
    """kind: of the ids of the file, or of the query; None for a copy of another cohort's version"""

    id: int
    kind: IdKind | ImportQueryKind | None
    source_id: int | None
    source_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortQuery:
    """Conditions combined by AND.

    search:        part of the name, in any case
    no_behavioral: without those that depend on events, themselves or through others
    """

    is_static: bool | None = None
    search: str = ""
    creator_id: int | None = None
    no_behavioral: bool = False

    def finds(self, name: str | None) -> bool:
        return self.search.lower() in (name or "").lower()


def read_cohort_query(
    kind: str | None, search: str | None, creator_id: int | None, *, no_behavioral: bool
) -> CohortQuery:
    """raises: Invalid"""
    if kind and kind not in get_args(CohortKind):
        detail = f'"{shortened(kind)}" is not a valid choice. Allowed are: dynamic, static.'
        raise Invalid(detail, code="invalid_choice", attr="type")
    return CohortQuery(
        is_static=kind == "static" if kind else None,
        search=(search or "").strip(),
        creator_id=creator_id,
        no_behavioral=no_behavioral,
    )


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

    def result(self) -> ImportedRows:
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
