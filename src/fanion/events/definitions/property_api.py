"""Property definitions over HTTP: properties of events, persons and groups, and their types.

The paths and names are PostHog's; `event_names`, `owner` and lists of groups by index are Fanion's
own.

Source: capture.md section 6.
"""

from typing import Annotated, Final
from uuid import UUID

from litestar import Controller, get, patch
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody

from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.events.columns_worker import KnownColumns
from fanion.events.definitions.details import DetailQuery, read_hidden
from fanion.events.definitions.model import read_names, read_words
from fanion.events.definitions.properties import GROUP_INDEX_MAX, PERSONS, PropertyDefinition
from fanion.events.definitions.property_service import PropertyService
from fanion.events.definitions.property_store import (
    PropertyQuery,
    find_properties,
    get_property,
)
from fanion.events.definitions.schemas import (
    PropertyChanges,
    PropertyDefinitionBody,
    property_body,
)
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import no_choice
from fanion.rest.validation import INTEGER_MAX, given_fields, normal_tags

OWNERS: Final = ("event", "person", "group")


class PropertyDefinitionsApi(Controller):
    path = "/api/projects/{project_id:str}/property_definitions"
    tags = ("Property definitions",)
    opt = scoped("property_definition")

    @get("/", summary="List property definitions")
    async def properties(
        self,
        request: ManagementRequest,
        records: NamedDependency[Records],
        columns: NamedDependency[KnownColumns],
        search: FromQuery[str | None] = None,
        properties: FromQuery[str | None] = None,
        event_names: FromQuery[str | None] = None,
        excluded_properties: FromQuery[str | None] = None,
        is_numerical: FromQuery[bool | None] = None,
        kind: Annotated[str | None, QueryParameter(name="type")] = None,
        group_type_index: Annotated[int | None, QueryParameter(ge=0, le=GROUP_INDEX_MAX)] = None,
        hidden: FromQuery[bool | None] = None,
        exclude_hidden: FromQuery[bool] = False,
        verified: FromQuery[bool | None] = None,
        tags: FromQuery[str | None] = None,
        owner: Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)] = None,
    ) -> Paged[PropertyDefinitionBody]:
        """List property definitions by name.

        `properties` is a list of names with commas between them; `event_names`,
        `excluded_properties` and `tags`, of which one must match, are JSON lists. `type` is `event`
        (the default), `person` or `group`, the latter with `group_type_index`. `owner` is the id of
        a user, `exclude_hidden=true` another name of `hidden=false`.
        """
        page = request.page
        query = PropertyQuery(
            words=read_words(search),
            names=properties.split(",") if properties else (),
            excluded=read_names(excluded_properties, "excluded_properties"),
            events=read_names(event_names, "event_names"),
            is_numeric=is_numerical,
            actors=_actors(kind, group_type_index),
            details=DetailQuery(
                tags=normal_tags(read_names(tags, "tags")),
                owner=owner,
                hidden=read_hidden(hidden, exclude_hidden),
                verified=verified,
            ),
            limit=page.limit,
            offset=page.offset,
        )
        definitions, count = await find_properties(records, request.project.id, query)
        bodies = [_body(definition, columns) for definition in definitions]
        return page.with_results(bodies, count)

    @get("/{definition_id:str}", summary="Retrieve a property definition")
    async def property_definition(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        records: NamedDependency[Records],
        columns: NamedDependency[KnownColumns],
    ) -> PropertyDefinitionBody:
        definition = await get_property(records, request.project.id, definition_id)
        return _body(definition, columns)

    @patch("/{definition_id:str}", summary="Update a property definition")
    async def change(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        data: RequestBody[PropertyChanges],
        property_service: NamedDependency[PropertyService],
        columns: NamedDependency[KnownColumns],
    ) -> PropertyDefinitionBody:
        """Set description, owner, tags and marks.

        `tags` replace existing ones. `hidden` and `verified` take the place of each other.
        """
        sent = given_fields(data)
        definition = await property_service.change_property(request.author, definition_id, sent)
        return _body(definition, columns)

    @get(
        "/{definition_id:str}/activity",
        summary="List a property definition's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        definition_id: FromPath[UUID],
        records: NamedDependency[Records],
    ) -> ActivityPage:
        await get_property(records, request.project.id, definition_id)
        return await activity_page(request, records, "PropertyDefinition", str(definition_id))


def _actors(kind: str | None, group_type_index: int | None) -> int | None:
    if kind not in (None, "", *OWNERS):
        raise no_choice(kind, OWNERS, "type")
    if kind == "group":
        if group_type_index is None:
            raise Invalid("Set it for properties of groups.", attr="group_type_index")
        return group_type_index
    if group_type_index is not None:
        raise Invalid("Set type=group with it.", attr="group_type_index")
    return PERSONS if kind == "person" else None


def _body(definition: PropertyDefinition, columns: KnownColumns) -> PropertyDefinitionBody:
    column = columns.stored.get(definition.name) if definition.type == "event" else None
    return property_body(definition, None if column is None else column.size_bytes)
