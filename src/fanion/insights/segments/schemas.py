"""Request bodies of the segments endpoints."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.insights.segments.model import DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX

Name = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]
Description = Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)]
Conditions = Annotated[
    Any, Meta(description="A group of conditions, or a list of those that must all hold.")
]
ExpectedTime = Annotated[
    datetime,
    Meta(description="`updated_at` of what the change is based on; 409 if it is older."),
]
# Names of a stored segment, which clients send back.
_MAINTAINED = frozenset({"id", "created_by", "created_at", "updated_at"})


class NewSegment(Struct, kw_only=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED
    unsupported: ClassVar[Mapping[str, str]] = {
        "deleted": "This field can only be set after creation."
    }

    name: Name
    properties: Conditions
    description: Description | None = None


class SegmentChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = _MAINTAINED

    name: Name | UnsetType = UNSET
    properties: Conditions | UnsetType = UNSET
    description: Description | UnsetType | None = UNSET
    deleted: bool | UnsetType = UNSET
    expected_updated_at: ExpectedTime | UnsetType | None = UNSET
