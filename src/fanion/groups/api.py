"""API of groups and their types.

The paths and names are PostHog's.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery
from msgspec import Meta, Struct

from fanion.db.engine import Records
from fanion.errors import Invalid, NotFound
from fanion.events.turns.turns_service import Turns
from fanion.groups.model import GROUP_TYPES_MAX
from fanion.groups.store import (
    GROUP_ORDERS,
    NEWEST_FIRST,
    Group,
    GroupQuery,
    find_group,
    find_groups,
    types_of,
)
from fanion.groups.values_store import group_values
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.validation import check_index
from fanion.properties.value_counts import PropertyValue, read_value_search
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import choice


class GroupBody(Struct, kw_only=True):
    group_type_index: int
    group_key: str
    group_properties: Mapping[str, Any]
    created_at: datetime


class GroupTypeBody(Struct, kw_only=True):
    group_type: str
    group_type_index: Annotated[int, Meta(ge=0, lt=GROUP_TYPES_MAX)]
    name_singular: str | None
    name_plural: str | None


class GroupsApi(Controller):
    path = "/api/projects/{project_id:str}/groups"
    tags = ("Groups",)
    opt = scoped("group")

    @get("/", summary="List groups of a type")
    async def list_groups(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        turns: NamedDependency[Turns],
        group_type_index: FromQuery[str | None] = None,
        search: FromQuery[str | None] = None,
        order: FromQuery[str | None] = None,
    ) -> Paged[GroupBody]:
        """Return the groups of a type, newest first.

        `search` is part of the key or of the properties. `order` is `-created_at`, `created_at`,
        `group_key` or `-group_key`.
        """
        page = request.page
        index = _parse_index(group_type_index)
        ordered = choice(order or NEWEST_FIRST, GROUP_ORDERS, "order")
        query = GroupQuery(index, search or "", page.limit, page.offset, ordered)
        async with turns.turn(request.project.id):
            listed, count = await find_groups(records, request.project.id, query)
        return page.with_results([_group_body(group) for group in listed], count, len(listed))

    @get("/find", summary="Retrieve a group")
    async def retrieve_group(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        group_type_index: FromQuery[str | None] = None,
        group_key: FromQuery[str | None] = None,
    ) -> GroupBody:
        if group_key is None:
            raise _missing("group_key")
        index = _parse_index(group_type_index)
        group = await find_group(records, request.project.id, index, group_key)
        if group is None:
            raise NotFound
        return _group_body(group)

    @get("/property_values", summary="List values of a property of groups")
    async def property_values(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        turns: NamedDependency[Turns],
        group_type_index: FromQuery[str | None] = None,
        key: FromQuery[str | None] = None,
        value: FromQuery[str | None] = None,
    ) -> list[PropertyValue]:
        """Return the 20 most frequent values, with the number of groups that have them.

        `value` is a part of the value, in any case.

        The values are counted of the first 20,000 groups of the type by their keys, and of 64 MiB
        of their properties. Each of the first 100 members of a list counts as a value. A value with
        more than 400 characters is cut, and ends with `…`.
        """
        index, search = _parse_index(group_type_index), read_value_search(key, value)
        async with turns.turn(request.project.id):
            return await group_values(records, request.project.id, index, search)


class GroupTypesApi(Controller):
    path = "/api/projects/{project_id:str}/groups_types"
    tags = ("Groups",)
    opt = scoped("group")

    @get("/", summary="List group types")
    async def list_types(
        self, request: ManagementRequest, records: NamedDependency[Records]
    ) -> list[GroupTypeBody]:
        """Return the group types by index; a project has five at most."""
        return [
            GroupTypeBody(
                group_type=name, group_type_index=index, name_singular=None, name_plural=None
            )
            for name, index in await types_of(records, request.project.id)
        ]


def _parse_index(text: str | None) -> int:
    if text is None:
        raise _missing("group_type_index")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise Invalid("A valid integer is required.", attr="group_type_index")
    check_index(int(text), "group_type_index")
    return int(text)


def _missing(name: str) -> Invalid:
    return Invalid("This field is required.", code="required", attr=name)


def _group_body(group: Group) -> GroupBody:
    return GroupBody(
        group_type_index=group.index,
        group_key=group.key,
        group_properties=group.properties,
        created_at=group.created_at,
    )
