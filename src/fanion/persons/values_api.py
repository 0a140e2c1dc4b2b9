"""API of the values of persons' properties.

The path and the names are PostHog's.
"""

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from fanion.events.values_service import PropertyValues
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.properties.value_counts import PropertyValue, read_value_search


class PersonValuesApi(Controller):
    path = "/api/projects/{project_id:str}/persons"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/values", summary="List values of a property of persons")
    async def values(
        self,
        request: ManagementRequest,
        property_values: NamedDependency[PropertyValues],
        key: FromQuery[str | None] = None,
        value: FromQuery[str | None] = None,
    ) -> list[PropertyValue]:
        """Return the 20 most frequent values, with the number of persons that have them.

        `value` is a part of the value, in any case.

        The values are counted of 500,000 persons, or of 50,000 when that takes longer than 3
        seconds; the persons are the same each time. Each of the first 100 members of a list counts
        as a value. A value with more than 400 characters is cut, and ends with `…`.
        """
        search = read_value_search(key, value)
        return await property_values.of_persons(request.project.id, search)
