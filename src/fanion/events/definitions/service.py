"""Changes of event definitions, each in one transaction, and the volume of their events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.exc import IntegrityError

from fanion.activity.model import Author
from fanion.errors import Invalid, Unavailable
from fanion.events.definitions.model import EventDefinition
from fanion.events.definitions.schemas import (
    VOLUMES_MAX,
    DayVolume,
    EventVolume,
    VolumeBody,
    VolumesBody,
)
from fanion.events.definitions.store import (
    DefinitionStore,
    delete_definition,
    update_definition,
)
from fanion.events.event import EventStoreUnavailable, last_days
from fanion.events.storage.store import EventStore


@dataclass(frozen=True, slots=True)
class DefinitionService:
    """The event definitions, and the volume of their events."""

    store: DefinitionStore
    events: EventStore

    async def change_definition(
        self, author: Author, definition_id: UUID, sent: Mapping[str, Any]
    ) -> EventDefinition:
        """Change a definition.

        Raises:
            NotFound: There is no such definition.
            Invalid: Another definition has this name, or the details cannot be set.
        """
        await self.store.get_definition(author.project_id, definition_id)
        try:
            async with self.store.records.write() as connection:
                return await connection.run_sync(update_definition, author, definition_id, sent)
        except IntegrityError:
            raise Invalid(
                "There is already an event definition with this name.", code="unique", attr="name"
            ) from None

    async def remove_definition(self, author: Author, definition_id: UUID) -> None:
        """Delete a definition, or raise NotFound.

        Its events stay. The next event with its name creates a new definition.
        """
        async with self.store.records.write() as connection:
            await connection.run_sync(delete_definition, author, definition_id)

    async def volume(self, definition: EventDefinition, zone: str, now: datetime) -> VolumeBody:
        """Count an event by day.

        Raises:
            Unavailable: The event store does not answer.
        """
        days = last_days(now, zone)
        try:
            counts = await self.events.counts.daily(definition.project_id, definition.name, days)
        except EventStoreUnavailable as error:
            raise Unavailable from error
        counted = days.counted(counts)
        return VolumeBody(
            timezone=zone,
            total=sum(count for _, count in counted),
            days=[DayVolume(day=day, count=count) for day, count in counted],
        )

    async def volumes(self, project_id: int, zone: str, now: datetime) -> VolumesBody:
        """Count all events by day.

        Raises:
            Unavailable: The event store does not answer.
        """
        days = last_days(now, zone)
        try:
            volumes = await self.events.counts.volumes(project_id, days, VOLUMES_MAX)
        except EventStoreUnavailable as error:
            raise Unavailable from error
        return VolumesBody(
            timezone=zone,
            days=[day for day, _ in days.counted({})],
            results=[
                EventVolume(
                    event=name,
                    total=sum(counts.values()),
                    counts=[count for _, count in days.counted(counts)],
                )
                for name, counts in volumes.items()
            ],
        )
