"""Cohorts and pending imports of members as they are stored, and queries for them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from fanion.cohorts.criteria.definition import Criteria
from fanion.errors import Invalid
from fanion.projects.model import UserSummary
from fanion.rest.unknown_fields import shortened

# What the rows of an uploaded file are.
IdKind = Literal["distinct_id", "person_id", "email"]
CohortKind = Literal["static", "dynamic"]


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
    question: ImportQuery | None = None


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
