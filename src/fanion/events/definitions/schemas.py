"""Request and response bodies of the endpoints of event and property definitions."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.events.definitions.details import DESCRIPTION_CHARS_MAX
from fanion.events.definitions.model import EventDefinition, EventDefinitionRecord
from fanion.events.definitions.properties import (
    NAME_CHARS_MAX,
    PropertyDefinition,
    PropertyType,
)
from fanion.projects.model import UserSummary
from fanion.rest.posthog_fields import (
    MAINTAINED_OF_DEFINITION,
    MAINTAINED_OF_PROPERTY,
    UNSUPPORTED_OF_DEFINITION,
)
from fanion.rest.validation import shared_fields

VOLUMES_MAX = 1_000  # names of events in one answer
DefinitionName = Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]


class DetailChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_DEFINITION
    unsupported: ClassVar[Mapping[str, str]] = UNSUPPORTED_OF_DEFINITION

    description: Annotated[str, Meta(max_length=DESCRIPTION_CHARS_MAX)] | UnsetType | None = UNSET
    owner: Annotated[
        Any,
        Meta(
            description="The id of a member of the organization, or null. A user as responses have "
            "it is accepted too.",
            extra_json_schema={"type": ["integer", "null"]},
        ),
    ] = UNSET
    tags: list[str] | UnsetType | None = UNSET
    hidden: bool | UnsetType = UNSET
    verified: bool | UnsetType = UNSET


class DefinitionChanges(DetailChanges, kw_only=True, omit_defaults=True):
    name: DefinitionName | UnsetType = UNSET
    created_at: datetime | UnsetType | None = UNSET
    last_seen_at: datetime | UnsetType | None = UNSET
    post_to_chat: bool | UnsetType = UNSET


class DefinitionReplacement(DetailChanges, kw_only=True, omit_defaults=True):
    name: DefinitionName
    created_at: datetime | UnsetType | None = UNSET
    last_seen_at: datetime | UnsetType | None = UNSET
    post_to_chat: bool | UnsetType = UNSET


class EventDefinitionBody(EventDefinitionRecord, frozen=True, kw_only=True):
    is_action: bool
    action_id: int | None
    is_calculating: bool
    last_calculated_at: datetime | None
    created_by: UserSummary | None


class PropertyChanges(DetailChanges, kw_only=True, omit_defaults=True):
    also_known: ClassVar[frozenset[str]] = MAINTAINED_OF_PROPERTY
    unsupported: ClassVar[Mapping[str, str]] = {}

    property_type: Literal["Numeric", "String", "DateTime"] | UnsetType | None = UNSET


class PropertyDefinitionBody(PropertyDefinition, frozen=True, kw_only=True):
    is_numerical: bool
    column_bytes: Annotated[
        int | None,
        Meta(
            description="The size of the dedicated column in the event store that makes questions "
            "about the property faster; null without one."
        ),
    ]


class MarkChanges(Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    hidden: bool | UnsetType = UNSET
    verified: bool | UnsetType = UNSET


class DayVolume(Struct, kw_only=True):
    day: date
    count: int


class VolumeBody(Struct, kw_only=True):
    timezone: Annotated[
        str, Meta(description="The time zone of the project, to which the days belong.")
    ]
    total: int
    days: Annotated[list[DayVolume], Meta(description="The last 30, the oldest first.")]


class EventVolume(Struct, kw_only=True):
    event: str
    total: int
    counts: Annotated[list[int], Meta(description="One for each of `days`.")]


class VolumesBody(Struct, kw_only=True):
    timezone: Annotated[
        str, Meta(description="The time zone of the project, to which the days belong.")
    ]
    days: Annotated[list[date], Meta(description="The last 30, the oldest first.")]
    results: Annotated[
        list[EventVolume],
        Meta(description=f"The {VOLUMES_MAX:,} most frequent events, the most frequent first."),
    ]


def definition_body(definition: EventDefinition) -> EventDefinitionBody:
    return EventDefinitionBody(
        **shared_fields(definition, EventDefinitionRecord),
        is_action=False,
        action_id=None,
        is_calculating=False,
        last_calculated_at=None,
        created_by=None,
    )


def property_body(
    definition: PropertyDefinition, column_bytes: int | None
) -> PropertyDefinitionBody:
    return PropertyDefinitionBody(
        **shared_fields(definition, PropertyDefinition),
        is_numerical=definition.property_type is PropertyType.NUMERIC,
        column_bytes=column_bytes,
    )
