"""Request and response bodies of the cohort endpoints.

Source: api.md, "Cohort"; cohorts.md sections 2 and 14.
"""

from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar
from uuid import UUID

from litestar.openapi.spec import Reference
from msgspec import UNSET, Meta, Struct, UnsetType, field

from fanion.cohorts.criteria.definition import FIELDS_OF_COHORT, NAME_CHARS_MAX
from fanion.cohorts.model import (
    DESCRIPTION_CHARS_MAX,
    UNMATCHED_MAX,
    CalculationRun,
    CohortRecord,
    ImportedRows,
    StoredCohort,
)
from fanion.persons.api import PersonBody, person_body
from fanion.persons.store import Person
from fanion.rest.endpoints import query_parameters, request_media_type
from fanion.rest.json_schema import JsonSchema
from fanion.rest.posthog_insight_fields import OF_FILTERS, OF_LINKS, OF_PLACES
from fanion.rest.validation import shared_fields

DISTINCT_IDS_MAX = 10
FILE_FIELD = "csv"  # the form field that holds a file of members
COHORT_FORM = "CohortForm"

Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]
Criteria = Annotated[
    Any,
    Meta(description="`{properties: …}`: a tree of conditions, stored as sent. `{}` means none."),
]
Query = Annotated[
    Any,
    Meta(
        description="`{kind: ActorsQuery, properties: […]}`: persons who match now become "
        "members of a static cohort."
    ),
]
PersonIds = Annotated[
    Any,
    Meta(description="Not supported; leave it empty or out. Use `add_persons_to_static_cohort`."),
]
ReturnedFilters = Annotated[dict[str, Any], Meta(description="As sent, or made from `groups`.")]
Groups = Annotated[Any, Meta(description="The older form of the criteria, a list.")]


class CohortFields(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The fields with which a cohort is created or updated, all of them optional."""

    also_known: ClassVar[frozenset[str]] = FIELDS_OF_COHORT | {FILE_FIELD}

    name: Name | UnsetType | None = UNSET
    description: Description | UnsetType = UNSET
    groups: Groups = UNSET
    deleted: bool | UnsetType = UNSET
    filters: Criteria = UNSET
    is_static: bool | UnsetType = UNSET
    query: Annotated[Any, Meta(description="Only accepted when a cohort is created.")] = UNSET
    static_person_ids: PersonIds = field(name="_create_static_person_ids", default=UNSET)


class NewCohort(CohortFields, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    query: Query = UNSET


def cohort_form() -> JsonSchema:
    """Return the schema of a form with a file of members; structured fields are JSON in a text."""
    texts = {name: {"type": "string"} for name in CohortFields.__struct_encode_fields__}
    file = {
        "type": "string",
        "format": "binary",
        "description": "The members: a distinct id in each line.",
    }
    return {"type": "object", "required": [FILE_FIELD], "properties": {**texts, FILE_FIELD: file}}


# Names of form fields. They are checked apart, because large fields do not reach a struct.
FORM_FIELDS = CohortFields.also_known.union(CohortFields.__struct_encode_fields__)
WITH_FILE = request_media_type(
    "multipart/form-data", Reference(ref=f"#/components/schemas/{COHORT_FORM}")
)
# Query parameters that describe the actors of a point of an insight.
# Source: cohorts.md section 10.
_ACTORS = {
    "insight": "`TRENDS`, `FUNNELS`, `RETENTION`, `PATHS`, `STICKINESS` or `LIFECYCLE`.",
    "events": "The insight's events, as JSON.",
    "properties": "Conditions on all events, as JSON.",
    "filter_test_accounts": "`true` also applies the project's `test_account_filters`.",
    "entity_id": "The event to use; by default the first of `events`.",
    "entity_type": "`events`.",
    "date_from": "A relative date such as `-7d`, a date or a time.",
    "date_to": "A relative date such as `-1d`, a date or a time.",
    "interval": "`hour`, `day`, `week` or `month`.",
    "breakdown": "For trends: a property.",
    "breakdown_type": "`event` or `person`.",
    "breakdown_value": "Value of the property.",
    "stickiness_days": "For stickiness: the exact number of intervals.",
    "target_date": "For lifecycle: a date within the interval to use.",
    "lifecycle_type": "`new`, `returning`, `resurrecting` or `dormant`.",
    "funnel_step": "Persons who reached this step, from 1; negative: who left just before it.",
    "funnel_window_days": "From the first step to the last; 14 by default.",
    "selected_interval": "For retention: the row, from 0.",
    "path_start_key": "For paths: the step at which an edge begins, as `1_/`.",
    "path_end_key": "For paths: the step at which an edge ends.",
    "path_dropoff_key": "For paths: the step after which persons left.",
}
CREATED_FROM_ACTORS = query_parameters(_ACTORS, WITH_FILE)
# Parameters that the insight or its point cannot use are refused when the insight is parsed.
ACTOR_PARAMETERS = OF_FILTERS.union(OF_PLACES, OF_LINKS, _ACTORS)


class CohortBody(CohortRecord, frozen=True, kw_only=True):
    next_calculation: Annotated[
        datetime | None,
        Meta(description="When it is calculated next unless it is changed; null if it is not."),
    ]
    groups: list[Any] | UnsetType
    filters: ReturnedFilters | UnsetType


class MemberPage(Struct, kw_only=True):
    results: list[PersonBody]
    next: str | None
    previous: str | None


class LastRun(Struct, kw_only=True):
    started_at: datetime
    seconds: float
    rows_read: int
    members: int


class UploadedRows(Struct, kw_only=True):
    rows: Annotated[int, Meta(description="Rows with an id.")]
    matched: Annotated[int, Meta(description="Rows whose id belongs to a person.")]
    unmatched_count: int
    unmatched: Annotated[
        list[str],
        Meta(
            description=f"Distinct values of the other rows, at most {UNMATCHED_MAX:,}; "
            "of the newest import only."
        ),
    ]


class Calculation(Struct, kw_only=True):
    id: Annotated[int, Meta(description="The number of the calculation; it only grows.")]
    started_at: datetime
    finished_at: datetime
    count: Annotated[
        int | None, Meta(description="Members after the calculation; null if it failed.")
    ]
    error: str | None
    is_completed: bool
    is_successful: bool
    total_query_ms: int
    total_read_rows: int
    uploaded: Annotated[UploadedRows | None, Meta(description="Rows of the imported files.")]


class Explanation(Struct, kw_only=True):
    """An explanation of how a cohort is calculated.

    Attributes:
        problem: Why there is neither sentence nor SQL, or the error of the last calculation.
    """

    sentence: Annotated[str | None, Meta(description="The criteria in plain English.")]
    sql: Annotated[str | None, Meta(description="The statement that finds the members.")]
    parameters: Annotated[dict[str, Any], Meta(description="The values that the statement binds.")]
    last_run: LastRun | None
    problem: str | None


class Previewed(Struct, kw_only=True, forbid_unknown_fields=True):
    filters: Criteria


class Preview(Struct, kw_only=True):
    """The persons who match criteria now; nothing is stored."""

    count: int
    sample: Annotated[list[UUID], Meta(description="Some of the members, at most ten.")]
    sentence: str
    sql: str
    parameters: dict[str, Any]
    seconds: float
    rows_read: int


def cohort_body(cohort: StoredCohort, *, basic: bool = False) -> CohortBody:
    """Return the response body of a cohort, without its criteria if `basic`."""
    return CohortBody(
        **shared_fields(cohort, CohortRecord),
        next_calculation=cohort.due_at,
        groups=UNSET if basic else cohort.groups,
        filters=UNSET if basic else cohort.criteria.effective_filters,
    )


def calculation_body(run: CalculationRun) -> Calculation:
    rows, is_successful = run.imported, run.error is None
    return Calculation(
        id=run.number,
        started_at=run.started_at,
        finished_at=run.started_at + timedelta(seconds=run.seconds),
        count=run.members,
        error=run.error,
        is_completed=True,
        is_successful=is_successful,
        total_query_ms=round(run.seconds * 1000),
        total_read_rows=run.rows_read,
        uploaded=None if rows is None else _uploaded(rows),
    )


def _uploaded(rows: ImportedRows) -> UploadedRows:
    return UploadedRows(
        rows=rows.rows,
        matched=rows.matched,
        unmatched_count=rows.rows - rows.matched,
        unmatched=rows.unmatched,
    )


def member_body(person: Person) -> PersonBody:
    """Return the response body of a member, with at most ten distinct ids.

    The name of a person without one is the UUID.
    """
    body = person_body(person)
    body.name = body.name or str(person.uuid)
    body.distinct_ids = body.distinct_ids[:DISTINCT_IDS_MAX]
    return body
