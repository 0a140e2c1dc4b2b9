"""Cohorts and pending imports of members, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from fanion.cohorts.criteria.definition import Criteria
from fanion.projects.model import UserSummary

# What the rows of an uploaded file are.
IdKind = Literal["distinct_id", "person_id", "email"]


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
