"""API of the results of experiments.

Source: experiments.md, sections 1d and 6.
"""

from typing import Annotated

from litestar import Controller, get
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery, QueryParameter

from fanion.experiments.results.reading import measured_experiment
from fanion.experiments.results.schemas import ResultsBody
from fanion.experiments.results.service import ExperimentResults
from fanion.experiments.service import ExperimentService
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId


class ExperimentResultsApi(Controller):
    path = "/api/projects/{project_id:str}/experiments"
    tags = ("Experiments",)
    opt = scoped("experiment")

    @get("/{experiment_id:str}/results", summary="Retrieve the results of an experiment")
    async def results(
        self,
        request: ManagementRequest,
        experiment_id: FromPath[ObjectId],
        experiments: NamedDependency[ExperimentService],
        experiment_results: NamedDependency[ExperimentResults],
        refresh: FromQuery[bool] = False,
        phase: Annotated[int | None, QueryParameter(ge=0, le=1000)] = None,
    ) -> ResultsBody:
        """Return who was exposed, what each variant did, and a verdict with its sentence.

        `as_of` tells the time of the numbers. Those that are not recent are calculated again for
        the next request; with `refresh` for this one. `phase` is the number of an earlier phase,
        from 0: a new one begins when the split changes.
        """
        experiment = await experiments.store.get_experiment(request.project.id, experiment_id)
        measured = measured_experiment(experiment, request.project)
        work = experiment_results.results(
            request.project,
            measured,
            request.app.state.now(),
            phase=phase,
            refresh=refresh,
        )
        return await request.unless_client_left(work)
