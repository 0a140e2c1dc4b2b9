"""API of experiments.

Source: experiments.md section 1d.
"""

from typing import Annotated

import msgspec
from litestar import Controller, Response, delete, get, patch, post
from litestar.datastructures import ResponseHeader
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter, RequestBody
from litestar.response.base import ASGIResponse
from msgspec import Struct

from fanion.cohorts.schemas import CohortBody, cohort_body
from fanion.errors import Invalid, NotFound
from fanion.experiments.exposure_service import EVENTS_MAX, ExposureService
from fanion.experiments.model import Experiment
from fanion.experiments.schemas import (
    VERSION_HEADER,
    Conclusion,
    EligibleFlags,
    ExperimentBody,
    ExperimentChanges,
    ExperimentCopy,
    Implementation,
    NewExperiment,
    ShippedVariant,
    experiment_body,
    small_flag,
)
from fanion.experiments.service import ExperimentService
from fanion.experiments.steps_service import ExperimentSteps
from fanion.experiments.store import ORDERS, STATUSES, ExperimentQuery
from fanion.flags.definitions.access_api import with_flag_access
from fanion.flags.definitions.model import FlagAccess
from fanion.projects.activity_api import ActivityPage, activity_page
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId, method_not_allowed
from fanion.rest.pagination import Paged
from fanion.rest.unknown_fields import choice
from fanion.rest.validation import INTEGER_MAX

SCOPE = "Experiment"
Id = Annotated[int | None, QueryParameter(ge=1, le=INTEGER_MAX)]
_VERSION = ResponseHeader(
    name=VERSION_HEADER,
    description="Version of the experiment; it increases with every change.",
    documentation_only=True,
)


class ExposureCohort(Struct, frozen=True, kw_only=True):
    cohort: CohortBody


class ExperimentsApi(Controller):
    path = "/api/projects/{project_id:str}/experiments"
    tags = ("Experiments",)
    opt = scoped("experiment")
    dependencies = with_flag_access()

    @get("/", summary="List experiments")
    async def experiments(
        self,
        request: ManagementRequest,
        experiments: NamedDependency[ExperimentService],
        status: FromQuery[str | None] = None,
        archived: FromQuery[bool] = False,
        feature_flag_id: Id = None,
        created_by_id: Id = None,
        search: FromQuery[str | None] = None,
        order: FromQuery[str | None] = None,
    ) -> Paged[ExperimentBody]:
        """Return the experiments that are not deleted, newest first.

        `status` is `draft`, `running`, `paused` (its flag is off), `stopped` or `all`. `search`
        matches part of the name or the description. `order` is `name`, `created_at`, `updated_at`,
        `start_date`, `end_date` or `id`, with `-` for descending.
        """
        page = request.page
        query = ExperimentQuery(
            status=choice(status, STATUSES, "status") if status else "",
            archived=archived,
            feature_flag_id=feature_flag_id,
            created_by_id=created_by_id,
            search=(search or "").strip(),
            order=_read_order(order),
        )
        found, count = await experiments.store.list_experiments(
            request.project.id, query, page.limit, page.offset
        )
        return page.with_results([experiment_body(each) for each in found], count)

    @post("/", summary="Create an experiment", response_headers=[_VERSION])
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewExperiment],
        access: NamedDependency[FlagAccess],
        experiments: NamedDependency[ExperimentService],
    ) -> Response[ExperimentBody]:
        """Create an experiment, and its feature flag unless there is one with the key.

        A flag that exists needs at least two variants, one of them `control`; its variants are
        those of the experiment. Without `start_date` the experiment is a draft, and a new flag is
        off.
        """
        return _response(await experiments.create_experiment(request.author, access, data))

    @get("/eligible_feature_flags", summary="List flags for experiments")
    async def eligible_flags(
        self, request: ManagementRequest, experiments: NamedDependency[ExperimentService]
    ) -> EligibleFlags:
        """Return the flags with which an experiment can run: with variants, of which one `control`.

        The newest are listed first.
        """
        flags = await experiments.store.eligible_flags(request.project.id)
        return EligibleFlags(results=[small_flag(flag) for flag in flags], count=len(flags))

    @get("/requires_flag_implementation", summary="Check whether events carry flags")
    async def requires_implementation(
        self,
        request: ManagementRequest,
        exposures: NamedDependency[ExposureService],
        names: Annotated[str | None, QueryParameter(name="events")] = None,
    ) -> Implementation:
        """Return whether none of the named events has carried a flag's value in the last 7 days.

        `events` is a JSON list of names. Without a value on its events, an experiment needs code
        that calls the flag.
        """
        result = await exposures.requires_implementation(
            request.project.id, _read_events(names), request.app.state.now()
        )
        return Implementation(result=result)

    @get("/activity", summary="List the activity of all experiments", scope="activity_log:read")
    async def all_activity(
        self, request: ManagementRequest, experiments: NamedDependency[ExperimentService]
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default."""
        return await activity_page(request, experiments.store.records, SCOPE)

    @get("/{experiment_id:str}", summary="Retrieve an experiment", response_headers=[_VERSION])
    async def experiment(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        experiments: NamedDependency[ExperimentService],
    ) -> Response[ExperimentBody]:
        found = await experiments.store.get_experiment(request.project.id, experiment_id)
        return _response(found)

    @patch("/{experiment_id:str}", summary="Update an experiment", response_headers=[_VERSION])
    async def change(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        data: RequestBody[ExperimentChanges],
        access: NamedDependency[FlagAccess],
        experiments: NamedDependency[ExperimentService],
    ) -> Response[ExperimentBody]:
        """Change an experiment; `parameters` and lists are replaced as a whole.

        `parameters` and the holdout of a draft are written into its flag. After the launch the
        percentages change with `update_feature_flag_params: true` only. With `version`, as in the
        header `X-Experiment-Version`, the change is made only if the experiment still has that
        version; otherwise the response is 409, with the experiment as `current`. `deleted: true`
        deletes it, `false` restores it.
        """
        return _response(
            await experiments.change_experiment(request.author, access, experiment_id, data)
        )

    @delete("/{experiment_id:str}", status_code=405, summary="Not supported: set `deleted` instead")
    async def remove(self, experiment_id: FromPath[ObjectId]) -> ASGIResponse:
        return method_not_allowed("GET, PATCH")

    @post("/{experiment_id:str}/duplicate", summary="Copy an experiment")
    async def duplicate(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        data: RequestBody[ExperimentCopy],
        access: NamedDependency[FlagAccess],
        experiments: NamedDependency[ExperimentService],
    ) -> Response[ExperimentBody]:
        """Create a draft with the metrics and parameters of another experiment, on another flag."""
        return _response(
            await experiments.copy_experiment(request.author, access, experiment_id, data)
        )

    @post(
        "/{experiment_id:str}/create_exposure_cohort_for_experiment",
        summary="Create a cohort of the persons exposed",
    )
    async def exposure_cohort(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        exposures: NamedDependency[ExposureService],
    ) -> ExposureCohort:
        """Create a cohort that is calculated on, of all who are exposed since the launch."""
        cohort = await exposures.create_cohort(request.author, experiment_id)
        return ExposureCohort(cohort=cohort_body(cohort))

    @get(
        "/{experiment_id:str}/activity",
        summary="List an experiment's activity",
        scope="activity_log:read",
    )
    async def activity(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        experiments: NamedDependency[ExperimentService],
    ) -> ActivityPage:
        """Return the changes, newest first; `page` starts at 1, `limit` is 10 by default."""
        store = experiments.store
        if not await store.has_experiment(request.project.id, experiment_id):
            raise NotFound
        return await activity_page(request, store.records, SCOPE, str(experiment_id))


async def _steps(
    request: ManagementRequest,
    experiment_id: FromPath[ObjectId],
    access: NamedDependency[FlagAccess],
    experiments: NamedDependency[ExperimentService],
) -> ExperimentSteps:
    """Return the steps of the experiment in the path, as the caller takes them."""
    store, bus = experiments.store, experiments.bus
    return ExperimentSteps(store, bus, request.author, access, experiment_id)


class ExperimentStepsApi(Controller):
    """The steps of experiments, each of which is refused in the wrong state."""

    path = "/api/projects/{project_id:str}/experiments/{experiment_id:str}"
    tags = ("Experiments",)
    opt = scoped("experiment")
    dependencies = with_flag_access(steps=_steps)

    @post("/launch", status_code=200, summary="Launch an experiment")
    async def launch(self, steps: NamedDependency[ExperimentSteps]) -> Response[ExperimentBody]:
        """Start a draft now, and switch its flag on."""
        return _response(await steps.launch())

    @post("/pause", status_code=200, summary="Pause an experiment")
    async def pause(self, steps: NamedDependency[ExperimentSteps]) -> Response[ExperimentBody]:
        """Switch the flag of a running experiment off."""
        return _response(await steps.pause())

    @post("/resume", status_code=200, summary="Resume an experiment")
    async def resume(self, steps: NamedDependency[ExperimentSteps]) -> Response[ExperimentBody]:
        """Switch the flag of a paused experiment on again."""
        return _response(await steps.resume())

    @post("/end", status_code=200, summary="End an experiment")
    async def end(
        self, data: RequestBody[Conclusion], steps: NamedDependency[ExperimentSteps]
    ) -> Response[ExperimentBody]:
        """End a running experiment now; its flag stays as it is."""
        return _response(await steps.end(data))

    @post("/ship_variant", status_code=200, summary="Ship a variant")
    async def ship(
        self, data: RequestBody[ShippedVariant], steps: NamedDependency[ExperimentSteps]
    ) -> Response[ExperimentBody]:
        """Give one variant to all who match the flag, and end the experiment if it runs."""
        return _response(await steps.ship(data))

    @post("/reset", status_code=200, summary="Reset an experiment")
    async def reset(self, steps: NamedDependency[ExperimentSteps]) -> Response[ExperimentBody]:
        """Make an experiment a draft again; its flag stays as it is."""
        return _response(await steps.reset())

    @post("/archive", status_code=200, summary="Archive an experiment")
    async def archive(self, steps: NamedDependency[ExperimentSteps]) -> Response[ExperimentBody]:
        """Leave an experiment that has ended out of the list."""
        return _response(await steps.archive())

    @post("/unarchive", status_code=200, summary="Restore an archived experiment")
    async def unarchive(self, steps: NamedDependency[ExperimentSteps]) -> Response[ExperimentBody]:
        return _response(await steps.unarchive())


def _response(experiment: Experiment) -> Response[ExperimentBody]:
    version = {VERSION_HEADER: str(experiment.version)}
    return Response(experiment_body(experiment), headers=version)


def _read_order(text: str | None) -> str:
    if not text:
        return ""
    choice(text.removeprefix("-"), ORDERS, "order")
    return text


def _read_events(text: str | None) -> list[str]:
    try:
        names = msgspec.json.decode(text or "[]", type=list[str])
    except (msgspec.DecodeError, RecursionError):
        raise Invalid(
            'events must be a JSON list of texts, such as ["a"].', attr="events"
        ) from None
    if not 0 < len(names) <= EVENTS_MAX:
        raise Invalid(f"Name 1 to {EVENTS_MAX} events.", attr="events")
    return names
