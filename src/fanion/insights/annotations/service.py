"""Changes of annotations, each in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import structs
from sqlalchemy import Connection

from fanion.activity.model import Author
from fanion.errors import NotFound
from fanion.insights.annotations.model import AnnotationRecord
from fanion.insights.annotations.schemas import require_owner
from fanion.insights.annotations.store import (
    AnnotationStore,
    add_annotation,
    get_annotation,
    write_annotation,
)


@dataclass(frozen=True, slots=True)
class AnnotationService:
    store: AnnotationStore

    async def create_annotation(self, author: Author, sent: Mapping[str, Any]) -> AnnotationRecord:
        """Create an annotation, by default about now.

        Raises:
            Invalid: It lacks its insight or dashboard, the project does not have that, or the
                project has too many annotations.
        """
        values = {**sent, "date_marker": sent["date_marker"] or author.now}
        require_owner(values)
        async with self.store.records.write() as connection:
            return await connection.run_sync(add_annotation, author, values)

    async def change_annotation(
        self, author: Author, annotation_id: int, sent: Mapping[str, Any]
    ) -> AnnotationRecord:
        """Change an annotation; a deleted one accepts only `deleted: false`.

        Raises:
            NotFound: There is no such annotation.
            Invalid: It lacks its insight or dashboard, or the project does not have that.
        """
        async with self.store.records.write() as connection:
            return await connection.run_sync(_change, author, annotation_id, sent)


def _change(
    connection: Connection, author: Author, annotation_id: int, sent: Mapping[str, Any]
) -> AnnotationRecord:
    reader = (author.project_id, author.organization_id)
    before = get_annotation(connection, reader, annotation_id, for_update=True)
    if before.deleted and sent.get("deleted") is not False:
        raise NotFound
    require_owner({**structs.asdict(before), **sent})
    return write_annotation(connection, author, before, sent)
