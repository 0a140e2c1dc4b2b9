"""Stored cohorts, pending imports of members, the history of calculations, and cohort queries.

Source: cohorts.md sections 2 and 17.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from fanion.cohorts.criteria.definition import Criteria
from fanion.errors import Invalid
from fanion.projects.model import UserSummary
from fanion.rest.unknown_fields import shortened

# The kind of ids that the rows of an uploaded file hold.
IdKind = Literal["distinct_id", "person_id", "email"]
CohortKind = Literal["static", "dynamic"]
DESCRIPTION_CHARS_MAX = 1_000
# Calculations in a cohort's history: five hours' worth for one calculated every 15 minutes.
RUNS_MAX = 20
# Unmatched rows stored of the newest import. Of older imports only their number is kept.
UNMATCHED_MAX = 1_000
UNMATCHED_CHARS_MAX = 200


class PlainCohort(Struct, frozen=True, kw_only=True):
    """The fields of a cohort that users set: those that are recorded, exported and imported.

    The defaults are those of a new cohort.

    Attributes:
        filters: None when the cohort has only `groups`.
    """

    name: str | None = None
    description: str = ""
    filters: dict[str, Any] | None = None
    groups: list[Any] = []
    is_static: bool = False
    deleted: bool = False


class CohortRecord(Struct, frozen=True, kw_only=True):
    """A cohort as it is stored and returned, without its criteria."""

    id: int
    name: str | None
    description: str
    is_static: bool
    deleted: bool
    is_calculating: bool
    created_by: UserSummary | None
    created_at: datetime
    last_calculation: datetime | None
    errors_calculating: int
    last_error_message: Annotated[
        str | None, Meta(description="Why the last calculation failed, until one succeeds.")
    ]
    count: Annotated[int | None, Meta(description="Members after the last calculation.")]


class StoredCohort(CohortRecord, frozen=True, kw_only=True):
    """A cohort with its current state.

    Attributes:
        version: The version of the current members; 0 before the first calculation.
        requested: The highest version that was ever begun or requested.
        due_at: When the next calculation or import is due; None if there is none.
    """

    project_id: int
    filters: dict[str, Any] | None
    groups: list[Any]
    version: int
    requested: int
    due_at: datetime | None

    @property
    def criteria(self) -> Criteria:
        return Criteria(self.id, self.name, self.is_static, self.filters, self.groups)


class LockedCohort(StoredCohort, frozen=True, kw_only=True):
    """A cohort before a change, in the transaction that changes it.

    Attributes:
        waits: Whether it has pending imports.
    """

    waits: bool


# `ImportQuery.text` is a flag's id, or the JSON of an insight or of a query.
ImportQueryKind = Literal["experiment", "flag", "insight", "query"]


@dataclass(frozen=True, slots=True)
class ImportQuery:
    """A query that runs in the background and whose persons become members."""

    kind: ImportQueryKind
    text: str


@dataclass(frozen=True, slots=True)
class MembersImport:
    """The source of members for a static cohort: an uploaded file, another cohort, or a query.

    Another cohort is copied as it is now.
    """

    upload_id: int | None = None
    source_id: int | None = None
    query: ImportQuery | None = None


@dataclass(frozen=True, slots=True)
class PendingImport:
    """An import of members that has not run yet.

    Attributes:
        kind: What the ids of the file are, or the kind of the query. None for a copy of another
            cohort's version.
    """

    id: int
    kind: IdKind | ImportQueryKind | None
    source_id: int | None
    source_version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortQuery:
    """Conditions on cohorts, combined by AND.

    Attributes:
        search: Part of the name; case is ignored.
        no_behavioral: Leaves out cohorts that depend on events, directly or through other cohorts.
        deleted: Whether to search the deleted cohorts, and not the others.
    """

    is_static: bool | None = None
    search: str = ""
    creator_id: int | None = None
    no_behavioral: bool = False
    deleted: bool = False

    def matches_name(self, name: str | None) -> bool:
        return self.search.lower() in (name or "").lower()


def read_cohort_query(
    kind: str | None,
    search: str | None,
    creator_id: int | None,
    *,
    no_behavioral: bool,
    deleted: bool,
) -> CohortQuery:
    """Parse the parameters of the list of cohorts.

    Raises:
        Invalid: `kind` is not a kind of cohort.
    """
    if kind and kind not in get_args(CohortKind):
        detail = f'"{shortened(kind)}" is not a valid choice. Allowed are: dynamic, static.'
        raise Invalid(detail, code="invalid_choice", attr="type")
    return CohortQuery(
        is_static=kind == "static" if kind else None,
        search=(search or "").strip(),
        creator_id=creator_id,
        no_behavioral=no_behavioral,
        deleted=deleted,
    )


class ImportedRows(Struct, kw_only=True):
    """The counted rows of imported files.

    Attributes:
        matched: Rows with the id of a person.
        unmatched: Distinct contents of the other rows, at most UNMATCHED_MAX.
    """

    rows: int
    matched: int
    unmatched: list[str]


class CalculationRun(Struct, kw_only=True, omit_defaults=True):
    """One calculation or import of a cohort.

    Attributes:
        number: The version that was calculated.
        members: The number of members afterwards.
        error: Why the calculation failed; None if it succeeded.
    """

    number: int = 0
    started_at: datetime
    seconds: float
    rows_read: int = 0
    members: int | None = None
    error: str | None = None
    imported: ImportedRows | None = None


@dataclass(slots=True)
class RowCounter:
    """A counter of the rows of an import, with and without a person.

    Attributes:
        is_file: Whether the import had a file.
    """

    rows: int = 0
    matched: int = 0
    is_file: bool = False
    _unmatched: dict[str, None] = field(default_factory=dict)

    def count_rows(self, ids: Iterable[str], unmatched: Collection[str]) -> None:
        """Count some rows of a file.

        Args:
            ids: The contents of the rows.
            unmatched: Those of `ids` without a person.
        """
        self.is_file = True
        for row in ids:
            self.rows += 1
            if row not in unmatched:
                self.matched += 1
            elif len(self._unmatched) < UNMATCHED_MAX:
                self._unmatched[row[:UNMATCHED_CHARS_MAX]] = None

    def imported_rows(self) -> ImportedRows:
        return ImportedRows(rows=self.rows, matched=self.matched, unmatched=list(self._unmatched))


# The JSON in the column `last_run`: the fields of the last successful run, and the newest runs,
# failed ones included, as `runs`.
StoredRuns = Mapping[str, Any] | None


def with_run(stored: StoredRuns, run: CalculationRun) -> dict[str, Any]:
    """Return the stored history with one more run, as its newest."""
    earlier = read_runs(stored)[: RUNS_MAX - 1]
    if run.imported is not None:
        for earlier_run in earlier:
            if earlier_run.imported is not None:
                earlier_run.imported.unmatched = []
    succeeded = run if run.error is None else last_successful_run(stored)
    own: dict[str, Any] = {} if succeeded is None else msgspec.to_builtins(succeeded)
    own.pop("imported", None)
    return {**own, "runs": msgspec.to_builtins([run, *earlier])}


def read_runs(stored: StoredRuns) -> list[CalculationRun]:
    """Return the runs, newest first.

    Older versions of Fanion stored only the last successful run.
    """
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
