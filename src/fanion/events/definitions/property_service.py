"""Changes of property definitions, each in one transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fanion.activity.model import Author
from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.events.definitions.properties import PropertyDefinition
from fanion.events.definitions.property_store import get_property, update_property


@dataclass(frozen=True, slots=True)
class PropertyService:
    """The definitions of properties of events, persons and groups."""

    records: Records

    async def change_property(
        self, author: Author, definition_id: UUID, sent: Mapping[str, Any]
    ) -> PropertyDefinition:
        """Change the details of a property.

        Raises:
            NotFound: There is no such definition.
            Invalid: The details cannot be set, or the type differs from the detected one.
        """
        values = dict(sent)
        stored = await get_property(self.records, author.project_id, definition_id)
        if values.pop("property_type", stored.property_type) != stored.property_type:
            raise Invalid(
                "The type of a property is detected from its first values and cannot be changed.",
                attr="property_type",
            )
        async with self.records.write() as connection:
            return await connection.run_sync(update_property, author, definition_id, values)
