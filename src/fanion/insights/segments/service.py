"""The checks of a segment before it is stored."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from fanion.insights.segments.conditions import check_own_conditions
from fanion.insights.segments.model import SegmentRecord
from fanion.projects.named_items.service import NamedItemService

SegmentService: TypeAlias = NamedItemService[SegmentRecord]

# Raises Invalid for the filters of a question of a project that cannot be calculated.
CheckFilters = Callable[[int, Mapping[str, Any]], Awaitable[None]]


async def check_segment(
    check_filters: CheckFilters, project_id: int, sent: Mapping[str, Any]
) -> dict[str, Any]:
    """Return checked fields: the conditions as a group, and an empty description for null.

    Args:
        check_filters: Checks conditions as part of a question. The package of questions is built on
            this one.

    Raises:
        Invalid: A condition cannot be compared.
    """
    values = dict(sent)
    if "description" in values:
        values["description"] = values["description"] or ""
    if "properties" in values:
        await check_filters(project_id, {"properties": values["properties"]})
        values["properties"] = check_own_conditions(values["properties"])
    return values
