"""API that explains cohorts: criteria in words and SQL, history of calculations, preview."""

from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.cohorts.explain_service import CohortExplanations
from fanion.cohorts.schemas import Calculation, Explanation, Preview, Previewed, calculation_body
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged


class CohortExplanationsApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @get("/{cohort_id:str}/explain", summary="Explain how a cohort is calculated")
    async def explain(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        explanations: NamedDependency[CohortExplanations],
    ) -> Explanation:
        """Return the criteria in English and as SQL, and the cost of the last calculation."""
        return await explanations.explain(request.project, cohort_id, request.app.state.now())

    @get("/{cohort_id:str}/calculation_history", summary="List a cohort's calculations")
    async def history(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        explanations: NamedDependency[CohortExplanations],
    ) -> Paged[Calculation]:
        """Return the last 20 calculations and imports, newest first, including failed ones.

        An import of files says how many rows matched, and what the other rows contain.
        """
        page = request.page
        runs = await explanations.calculation_history(request.project.id, cohort_id)
        some = runs[page.offset : page.offset + page.limit]
        return page.with_results([calculation_body(run) for run in some], len(runs))

    @post("/preview", status_code=200, summary="Preview criteria", reads=True)
    async def preview(
        self,
        request: ManagementRequest,
        data: RequestBody[Previewed],
        explanations: NamedDependency[CohortExplanations],
    ) -> Preview:
        """Return the number of persons who match now, and some of them."""
        return await explanations.preview(request.project, data.filters, request.app.state.now())
