"""API of plans of experiments.

Source: experiments.md, section 4h.
"""

from litestar import Controller, post
from litestar.di import NamedDependency
from litestar.params import RequestBody

from fanion.experiments.planning.schemas import NewPlan, PlanBody
from fanion.experiments.planning.service import ExperimentPlans
from fanion.projects.request_api import ManagementRequest, scoped


class ExperimentPlansApi(Controller):
    path = "/api/projects/{project_id:str}/experiments"
    tags = ("Experiments",)
    opt = scoped("experiment")

    @post("/plan", status_code=200, summary="Plan an experiment", reads=True)
    async def plan(
        self,
        request: ManagementRequest,
        data: RequestBody[NewPlan],
        plans: NamedDependency[ExperimentPlans],
    ) -> PlanBody:
        """Return how long an experiment has to run to find a change.

        The numbers are those of the last 14 days. They hold for the default method, whose
        results can be looked at every day.
        """
        now = request.app.state.now()
        return await request.unless_client_left(plans.plan(request.project, data, now))
