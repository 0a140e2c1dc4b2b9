"""API of the persons or groups behind the numbers of experiments.

Source: experiments.md, section 6; insights.md, section 13.
"""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from msgspec import Meta, convert

from fanion.cohorts.criteria.definition import NAME_CHARS_MAX
from fanion.cohorts.model import MembersImport
from fanion.cohorts.schemas import CohortBody, cohort_body
from fanion.cohorts.service import CohortService
from fanion.errors import Invalid
from fanion.experiments.people.behind import PHASES_MAX, STEPS_MAX, Behind
from fanion.experiments.people.service import ExperimentPeople
from fanion.insights.actors.listing_api import (
    CSV,
    ROWS_MAX,
    ActorsListing,
    csv_or_json,
    list_actors,
)
from fanion.insights.actors.result import ActorsBody
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, response_media_type
from fanion.rest.pagination import OFFSET_MAX, ROWS


class NewPeopleCohort(Behind, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A static cohort of the persons behind a number."""

    name: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)]


class ExperimentPeopleApi(Controller):
    path = "/api/projects/{project_id:str}/experiments/{experiment_id:str}/people"
    tags = ("Experiments",)
    opt = scoped("person")

    @get(
        "/",
        summary="List the persons or groups behind a number of an experiment",
        operation_class=response_media_type(CSV),
    )
    async def people(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        experiment_people: NamedDependency[ExperimentPeople],
        variant: FromQuery[str | None] = None,
        metric: FromQuery[str | None] = None,
        converted: FromQuery[bool | None] = None,
        step: Annotated[int | None, QueryParameter(ge=1, le=STEPS_MAX)] = None,
        phase: Annotated[int | None, QueryParameter(ge=0, le=PHASES_MAX)] = None,
        search: FromQuery[str | None] = None,
        form: Annotated[str | None, QueryParameter(name="format")] = None,
        limit: Annotated[int, QueryParameter(ge=0, le=OFFSET_MAX)] = ROWS,
        offset: Annotated[int, QueryParameter(ge=0, le=OFFSET_MAX)] = 0,
    ) -> Response[ActorsBody]:
        """Return the persons or groups that a number of the results counts.

        Without `metric`, those exposed to `variant`, each with the time of the first exposure; the
        variants `$multiple`, `$holdout` and `$earlier_phases` are those that were left out. With
        the `uuid` of a metric, those that it counts, each with the value; `converted` keeps those
        whose value is other than 0 (`true`) or 0 (`false`), and `step` those who reached a step
        of a funnel. `search` and `format` are as for insights.
        """
        if variant is None:
            raise Invalid("This field is required.", code="required", attr="variant")
        behind = Behind(variant=variant, metric=metric, converted=converted, step=step, phase=phase)
        query = await experiment_people.query(request.project, experiment_id, behind)
        listing = ActorsListing(
            query=query,
            limit=min(limit or ROWS, ROWS_MAX),
            offset=offset,
            search=(search or "").strip(),
            form=csv_or_json(request, form),
            address=_PageAddresses(request).at,
        )
        return await list_actors(request, experiment_people.actors, listing)

    @post(
        "/save_as_cohort",
        summary="Save the persons behind a number as a cohort",
        scope="cohort:write",
    )
    async def save(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        data: RequestBody[NewPeopleCohort],
        experiment_people: NamedDependency[ExperimentPeople],
        cohorts: NamedDependency[CohortService],
    ) -> CohortBody:
        """Create a static cohort of the persons that a number of the results counts.

        It is calculated in the background.
        """
        author = request.author
        behind = convert(data, Behind, from_attributes=True)
        query = await experiment_people.import_query(
            request.project, experiment_id, behind, author.now
        )
        members = MembersImport(query=query)
        return cohort_body(await cohorts.create_static_cohort(author, data.name, members))


@dataclass(frozen=True, slots=True)
class _PageAddresses:
    """The addresses of the other pages of a list."""

    request: ManagementRequest

    def at(self, offset: int) -> str:
        page = self.request.page
        pairs = [(name, value) for name, value in page.query if name != "offset"]
        if offset:
            pairs.append(("offset", str(offset)))
        return f"{page.address}?{urlencode(pairs)}"
