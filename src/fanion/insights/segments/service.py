"""Changes of segments, each in one transaction."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import NotFound
from fanion.insights.segments.conditions import check_own_conditions
from fanion.insights.segments.model import SegmentRecord, StaleSegment
from fanion.insights.segments.store import (
    SegmentStore,
    create_segment,
    get_segment,
    write_segment,
)
from fanion.rest.uses import in_use

# Returns the names of what uses a segment of a project, such as `insight "Sign-ups"`.
UsesOf = Callable[[Connection, int, int], Sequence[str]]
# Raises Invalid for the filters of a question of a project that cannot be calculated.
CheckFilters = Callable[[int, Mapping[str, Any]], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class SegmentService:
    """The changes of the segments of a project.

    Attributes:
        check_filters: Checks conditions as part of a question. The package of questions is built on
            this one, like the packages of the next.
        uses_of: Find what uses a segment: saved insights, dashboards.
    """

    store: SegmentStore
    check_filters: CheckFilters
    uses_of: Sequence[UsesOf] = ()

    async def create_segment(self, author: Author, sent: Mapping[str, Any]) -> SegmentRecord:
        """Create a segment.

        Raises:
            Invalid: A condition cannot be compared, the name is taken, or the project has too many.
        """
        values = await self._checked(author.project_id, sent)
        async with self.store.records.write() as connection:
            return await connection.run_sync(create_segment, author, values)

    async def change_segment(
        self, author: Author, segment_id: int, sent: Mapping[str, Any]
    ) -> SegmentRecord:
        """Change a segment, in everything that uses it; a deleted one only accepts its restoration.

        Raises:
            NotFound: There is no such segment.
            Invalid: A condition cannot be compared, the name is taken, or a segment to be deleted
                is used.
            StaleSegment: It was changed since `expected_updated_at`.
        """
        values = await self._checked(author.project_id, sent)
        expected = values.pop("expected_updated_at", None)
        async with self.store.records.write() as connection:
            return await connection.run_sync(self._change, author, segment_id, values, expected)

    async def _checked(self, project_id: int, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return checked fields: the conditions as a group, and an empty description for null."""
        values = dict(sent)
        if "description" in values:
            values["description"] = values["description"] or ""
        if "properties" in values:
            await self.check_filters(project_id, {"properties": values["properties"]})
            values["properties"] = check_own_conditions(values["properties"])
        return values

    def _change(
        self,
        connection: Connection,
        author: Author,
        segment_id: int,
        values: Mapping[str, Any],
        expected: object,
    ) -> SegmentRecord:
        before = get_segment(connection, author.project_id, segment_id, for_update=True)
        if before.deleted and values.get("deleted") is not False:
            raise NotFound
        if expected is not None and before.updated_at != expected:
            raise StaleSegment(attr="expected_updated_at")
        if values.get("deleted"):
            self._require_unused(connection, author.project_id, segment_id)
        return write_segment(connection, author, before, values)

    def _require_unused(self, connection: Connection, project_id: int, segment_id: int) -> None:
        """Raise Invalid if something uses the segment."""
        uses = [use for find in self.uses_of for use in find(connection, project_id, segment_id)]
        if uses:
            raise in_use("segment", uses)
