"""Segments: named sets of conditions that questions use."""

from collections.abc import Container, Mapping
from datetime import datetime
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from fanion.errors import Invalid
from fanion.projects.model import UserSummary

NAME_CHARS_MAX: Final = 400
DESCRIPTION_CHARS_MAX: Final = 1_000
SEGMENTS_MAX: Final = 500  # in one project
CONDITIONS_MAX: Final = 50  # in one segment; the text of a statement grows with each
NAMED_MAX: Final = 20  # different segments in one question


class PlainSegment(Struct, frozen=True, kw_only=True):
    """The fields of a segment that users set: those that are recorded, exported and imported."""

    name: str
    description: str = ""
    properties: Annotated[dict[str, Any], Meta(description="A group of conditions.")]


class SegmentRecord(PlainSegment, frozen=True, kw_only=True):
    """A segment as it is stored and returned."""

    id: int
    deleted: bool
    created_by: UserSummary | None
    created_at: datetime
    updated_at: datetime


def no_such_segment(segment_id: int, at: str | None) -> Invalid:
    detail = f"Segment with id {segment_id} does not exist"
    return Invalid(detail, code="segment_does_not_exist", attr=at)


def require_segments_found(named: Mapping[int, str], found: Container[int]) -> None:
    """Raise Invalid for a segment that was not found.

    Args:
        named: The place in the request of each id.
    """
    for segment_id, place in named.items():
        if segment_id not in found:
            raise no_such_segment(segment_id, place or None)
