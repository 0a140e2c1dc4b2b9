"""The actors behind a number as clients read them.

Source: insights.md, section 13.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.groups.store import Group
from fanion.persons.api import PersonBody


class ActorBody(Struct, kw_only=True):
    """A person or a group."""

    type: Annotated[str, Meta(description="`person` or `group`.")]
    id: Annotated[str, Meta(description="UUID of a person, key of a group.")]
    name: str
    properties: Mapping[str, Any]
    created_at: datetime | None
    uuid: UUID | UnsetType = UNSET
    distinct_ids: list[str] | UnsetType = UNSET
    is_identified: bool | UnsetType = UNSET
    group_key: str | UnsetType = UNSET
    group_type_index: int | UnsetType = UNSET
    value_at_data_point: Annotated[
        Any, Meta(description="What the actor contributes to the number.")
    ] = UNSET
    appearances: Annotated[
        list[int] | UnsetType, Meta(description="For retention: 0 or 1 for each interval.")
    ] = UNSET
    matched_recordings: list[Any] = []


class ActorList(Struct, kw_only=True):
    people: list[ActorBody]
    count: int


class ActorsBody(Struct, kw_only=True):
    results: list[ActorList]
    next: Annotated[str | None, Meta(description="Address of the next page.")]
    initial: Annotated[str, Meta(description="Address of the first page.")]
    missing_persons: Annotated[
        int, Meta(description="Actors on the page that are not persons: events without a profile.")
    ]
    is_cached: bool
    last_refresh: datetime


def person_actor(person: PersonBody, value: object) -> ActorBody:
    body = ActorBody(
        type="person",
        id=str(person.uuid),
        uuid=person.uuid,
        name=person.name or str(person.uuid),
        properties=person.properties,
        created_at=person.created_at,
        distinct_ids=person.distinct_ids,
        is_identified=person.is_identified,
    )
    return _with_value(body, value)


def group_actor(key: str, index: int, group: Group | None, value: object) -> ActorBody:
    properties = {} if group is None else group.properties
    name = properties.get("name")
    body = ActorBody(
        type="group",
        id=key,
        group_key=key,
        group_type_index=index,
        name=name if isinstance(name, str) and name else key,
        properties=properties,
        created_at=None if group is None else group.created_at,
    )
    return _with_value(body, value)


def _with_value(body: ActorBody, value: object) -> ActorBody:
    if isinstance(value, list | tuple):
        body.appearances = [int(appearance) for appearance in value]
    else:
        body.value_at_data_point = value
    return body
