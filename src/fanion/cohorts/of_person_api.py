"""API of the cohorts that a person is in.

Source: PostHog's `/persons/cohorts/?person_id=`.
"""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from msgspec import Meta, Struct

from fanion.cohorts.api import CohortService
from fanion.cohorts.schemas import CohortBody, cohort_body
from fanion.errors import NotFound
from fanion.persons.api import read_person_id
from fanion.persons.store import get_person
from fanion.projects.request_api import ManagementRequest, scoped


class CohortsOfPerson(Struct, kw_only=True):
    results: Annotated[list[CohortBody], Meta(description="The newest first.")]


class PersonCohortsApi(Controller):
    path = "/api/projects/{project_id:str}/persons/cohorts"
    tags = ("Persons",)
    opt = scoped("person")

    @get("/", summary="List the cohorts of a person")
    async def of_person(
        self,
        request: ManagementRequest,
        cohorts: NamedDependency[CohortService],
        person_id: Annotated[str, QueryParameter()],
    ) -> CohortsOfPerson:
        """Return the cohorts that had the person at their last calculation.

        `person_id` is a UUID or a numeric id. A key also needs the scope `cohort:read`.
        """
        request.principal.require_access(request.project, "cohort:read")
        store, project_id = cohorts.store, request.project.id
        person = await get_person(store.records, project_id, read_person_id(person_id))
        if person is None:
            raise NotFound
        matching = await store.cohorts_of_person(project_id, person.id)
        return CohortsOfPerson(results=[cohort_body(cohort) for cohort in matching])
