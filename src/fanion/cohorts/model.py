"""Cohorts, and what a static cohort is to be given, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from fanion.cohorts.criteria.definition import Criteria
from fanion.projects.model import UserSummary

# What the rows of an uploaded file are.
IdKind = Literal["distinct_id", "person_id", "email"]


@dataclass(frozen=True, slots=True)
class StoredCohort:
    """version: of the members to be seen, 0 before the first; requested: the newest asked for"""

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
        shown = self.criteria
        return {
            "name": shown.name,
            "description": self.description,
            "filters": shown.filters,
            "groups": list(shown.groups),
            "is_static": shown.is_static,
            "deleted": self.deleted,
        }


@dataclass(frozen=True, slots=True)
class CohortState:
    """What counts of a cohort that is about to be changed.

    requested: its newest calculation
    waits:     whether it was given members that are still to be imported
    """

    criteria: Criteria
    deleted: bool
    requested: int
    waits: bool


# A flag by its id, an insight, or a query by their JSON.
ImportQueryKind = Literal["flag", "insight", "query"]


@dataclass(frozen=True, slots=True)
class ImportQuery:
    """Who is to become a member: whoever is found when it is asked in the background."""

    kind: ImportQueryKind
    text: str


@dataclass(frozen=True, slots=True)
class MembersImport:
    """Members for a static cohort: an uploaded file, what another cohort has now, or those that
    a question finds."""

    upload_id: int | None = None
    source_id: int | None = None
    question: ImportQuery | None = None


@dataclass(frozen=True, slots=True)
class PendingImport:
    """What a cohort is to be given: a file of this kind of ids, those that this kind of question
    finds, or the members that another cohort had in a version."""

    id: int
    kind: IdKind | ImportQueryKind | None
    source_id: int | None
    source_version: int | None
