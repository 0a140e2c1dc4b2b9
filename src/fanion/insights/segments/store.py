"""Segments in the records store."""

from collections.abc import Mapping
from typing import Final, TypeVar

from sqlalchemy import select

from fanion.db.engine import Records
from fanion.db.schema.insights import segments
from fanion.insights.query import InsightQuery, conditions_of
from fanion.insights.segments.conditions import (
    parse_own_conditions,
    segments_among,
    with_segments,
)
from fanion.insights.segments.model import (
    SEGMENTS_MAX,
    PlainSegment,
    SegmentRecord,
    require_segments_found,
)
from fanion.projects.named_items.store import NamedItems
from fanion.properties.filters import ConditionGroup, Node, leaves

SEGMENTS: Final = NamedItems(
    table=segments,
    columns=tuple(name for name in SegmentRecord.__struct_fields__ if name != "created_by"),
    recorded=(*PlainSegment.__struct_fields__, "deleted"),
    read=lambda values: SegmentRecord(**values),
    scope="Segment",
    article="a",
    noun="segment",
    count_max=SEGMENTS_MAX,
)
_Query = TypeVar("_Query", bound=InsightQuery)


async def resolve_segments(records: Records, project_id: int, query: _Query) -> _Query:
    """Return the question with the conditions of its segments in place of their ids.

    Raises:
        Invalid: There is no such segment, or there are too many segments or conditions.
        RecordsUnavailable: The records store does not answer.
    """
    found = await _load_conditions(records, project_id, segments_among(conditions_of(query)))
    return with_segments(query, found) if found else query


async def require_segments(records: Records, project_id: int, conditions: Node | None) -> None:
    """Raise Invalid if conditions name a segment that does not exist, or too many segments."""
    if conditions is not None:
        await _load_conditions(records, project_id, segments_among(leaves(conditions)))


async def _load_conditions(
    records: Records, project_id: int, named: Mapping[int, str]
) -> Mapping[int, ConditionGroup]:
    """Return the conditions of segments by id.

    Args:
        named: The place in the request of each id.

    Raises:
        Invalid: There is no such segment.
    """
    if not named:
        return {}
    live = SEGMENTS.conditions(project_id)
    rows = await records.fetch(
        select(segments.c.id, segments.c.properties).where(*live, segments.c.id.in_(named))
    )
    found = {row.id: parse_own_conditions(row.properties) for row in rows}
    require_segments_found(named, found)
    return found
