"""Request bodies of the endpoints of annotations."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.errors import Invalid
from fanion.insights.annotations.model import CONTENT_CHARS_MAX, Origin, Place
from fanion.rest.posthog_fields import OF_ANNOTATION, UNSUPPORTED_OF_ANNOTATION

Content = Annotated[str, Meta(min_length=1, max_length=CONTENT_CHARS_MAX)]
Moment = Annotated[datetime, Meta(description="The moment that the annotation is about.")]
# What an annotation of each scope belongs to.
_OWNERS: Mapping[str, str] = {"dashboard_item": "dashboard_item", "dashboard": "dashboard_id"}


class NewAnnotation(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_ANNOTATION
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_ANNOTATION

    content: Content
    date_marker: Moment | None = None
    creation_type: Origin = "USR"
    scope: Place = "project"
    dashboard_item: int | None = None
    dashboard_id: int | None = None


class AnnotationChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = OF_ANNOTATION
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_ANNOTATION

    content: Content | UnsetType = UNSET
    date_marker: Moment | UnsetType = UNSET
    creation_type: Origin | UnsetType = UNSET
    scope: Place | UnsetType = UNSET
    dashboard_item: int | UnsetType | None = UNSET
    dashboard_id: int | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET


def require_owner(values: Mapping[str, Any]) -> None:
    """Raise Invalid if an annotation names no insight or dashboard, although its scope needs one.

    Args:
        values: All values of the annotation.
    """
    owner = _OWNERS.get(values["scope"])
    if owner is not None and values[owner] is None:
        raise Invalid(
            f"An annotation with the scope {values['scope']} needs {owner}.",
            code="required",
            attr=owner,
        )
