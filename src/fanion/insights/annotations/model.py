"""Notes about a moment, which charts show."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fanion.projects.model import UserSummary

CONTENT_CHARS_MAX = 8192
Scope = Literal["dashboard_item", "dashboard", "project", "organization"]
CreationType = Literal["USR", "GIT"]
Place = Annotated[
    Scope,
    Meta(
        description="Where the annotation is shown: on one insight, on the insights of one "
        "dashboard, on all insights of the project, or of all projects of the organization."
    ),
]
Origin = Annotated[
    CreationType, Meta(description="`USR` for a user's note, `GIT` for that of a deployment.")
]


class PlainAnnotation(Struct, frozen=True, kw_only=True):
    """The fields of an annotation that users set, and that are recorded.

    Attributes:
        dashboard_item: The insight that it is about.
        dashboard_id: The dashboard that it is about.
    """

    content: str
    date_marker: datetime
    creation_type: Origin
    scope: Place
    dashboard_item: int | None
    dashboard_id: int | None
    deleted: bool


class AnnotationRecord(PlainAnnotation, frozen=True, kw_only=True):
    """An annotation as it is stored and returned."""

    id: int
    dashboard_name: str | None
    insight_short_id: str | None
    insight_name: str | None
    insight_derived_name: str | None
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime
