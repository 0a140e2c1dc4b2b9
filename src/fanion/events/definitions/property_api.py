"""Property definitions over HTTP: the properties that events have, and their detected types.

The paths and names are PostHog's; `event_names` is Fanion's own.

Source: capture.md section 6.
"""

from typing import Annotated
from uuid import UUID

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter
from msgspec import Meta
from msgspec.structs import asdict

from fanion.db.engine import Records
from fanion.errors import NotFound
from fanion.events.columns_worker import KnownColumns
from fanion.events.definitions.model import read_names, read_words
from fanion.events.definitions.properties import PropertyDefinition, PropertyType
from fanion.events.definitions.property_store import (
    PropertyQuery,
    find_properties,
    get_property,
)
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import no_choice


class PropertyDefinitionBody(PropertyDefinition, frozen=True, kw_only=True):
    is_numerical: bool
    column_bytes: Annotated[
        int | None,
        Meta(
            description="The size of the dedicated column in the event store that makes questions "
            "about the property faster; null without one."
        ),
    ]


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
    ) -> Paged[PropertyDefinitionBody]:
        """List property definitions by name.

        `properties` is a list of names with commas between them; `event_names` and
        `excluded_properties` are JSON lists. The only `type` is `event`.
        """
        if kind not in (None, "", "event"):
            raise no_choice(kind, ("event",), "type")
        page = request.page
        query = PropertyQuery(
            words=read_words(search),
            names=properties.split(",") if properties else (),
            excluded=read_names(excluded_properties, "excluded_properties"),
            events=read_names(event_names, "event_names"),
            is_numeric=is_numerical,
            limit=page.limit,
            offset=page.offset,
        )
        definitions, count = await find_properties(records, request.project.id, query)
        bodies = [_property_body(definition, columns) for definition in definitions]
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
        if definition is None:
            raise NotFound
        return _property_body(definition, columns)


def _property_body(definition: PropertyDefinition, columns: KnownColumns) -> PropertyDefinitionBody:
    column = columns.stored.get(definition.name)
    return PropertyDefinitionBody(
        **asdict(definition),
        is_numerical=definition.property_type is PropertyType.NUMERIC,
        column_bytes=None if column is None else column.size_bytes,
    )
