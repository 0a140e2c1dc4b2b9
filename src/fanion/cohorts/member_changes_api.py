"""Persons added to a static cohort and removed from it, over HTTP.

source: cohorts.md section 17
"""

from typing import Annotated
from uuid import UUID

from litestar import Controller, patch
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import UNSET, Meta, Struct, UnsetType

from fanion.activity.api import author_of
from fanion.cohorts.api import Cohorts
from fanion.cohorts.member_changes_store import PERSONS_MAX
from fanion.errors import Invalid
from fanion.projects.request import ManagementRequest, scoped
from fanion.rest.ids import ObjectId


class AddedPersons(Struct, kw_only=True, forbid_unknown_fields=True):
    person_ids: Annotated[list[UUID], Meta(description=f"At most {PERSONS_MAX:,}.")]


class RemovedPerson(Struct, kw_only=True, forbid_unknown_fields=True):
    person_id: UUID


class Added(Struct, kw_only=True):
    success: bool
    unmatched: Annotated[
        list[UUID] | UnsetType, Meta(description="Those without a person in this project, if any.")
    ] = UNSET


class Removed(Struct, kw_only=True):
    success: bool


class CohortMemberChangesApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts/{cohort_id:str}"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @patch("/add_persons_to_static_cohort", summary="Add persons to a static cohort")
    async def add(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[AddedPersons],
        cohorts: NamedDependency[Cohorts],
    ) -> Added:
        """At once. Of persons that were merged since, those that they became. Not while a file is
        being imported: 503."""
        people = list(dict.fromkeys(data.person_ids))
        if not people:
            raise Invalid("person_ids cannot be empty", attr="person_ids")
        if len(people) > PERSONS_MAX:
            raise Invalid(
                f"List size exceeds limit: {len(people)} persons, at most {PERSONS_MAX}.",
                attr="person_ids",
            )
        unmatched = await cohorts.members.add(author_of(request), cohort_id, people)
        cohorts.told(request.project.id)
        return Added(success=True, unmatched=list(unmatched) or UNSET)

    @patch("/remove_person_from_static_cohort", summary="Remove a person from a static cohort")
    async def remove(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        data: RequestBody[RemovedPerson],
        cohorts: NamedDependency[Cohorts],
    ) -> Removed:
        """At once; 404 for who is not in it. Not while a file is being imported: 503."""
        await cohorts.members.remove(author_of(request), cohort_id, data.person_id)
        cohorts.told(request.project.id)
        return Removed(success=True)
