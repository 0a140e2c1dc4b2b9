"""API of the saved metrics of experiments.

Source: experiments.md section 1d.
"""

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody
from msgspec import structs

from fanion.experiments.saved_metrics.model import SavedMetricRecord
from fanion.experiments.saved_metrics.schemas import NewSavedMetric, SavedMetricChanges
from fanion.experiments.saved_metrics.service import SavedMetricService
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged
from fanion.rest.validation import given_fields


class SavedMetricsApi(Controller):
    path = "/api/projects/{project_id:str}/experiment_saved_metrics"
    tags = ("Experiments",)
    opt = scoped("experiment")

    @get("/", summary="List saved metrics")
    async def metrics(
        self, request: ManagementRequest, saved_metrics: NamedDependency[SavedMetricService]
    ) -> Paged[SavedMetricRecord]:
        """Return the saved metrics, newest first."""
        page = request.page
        found, count = await saved_metrics.store.list_metrics(
            request.project.id, page.limit, page.offset
        )
        return page.with_results(list(found), count)

    @post("/", summary="Create a saved metric")
    async def create(
        self,
        request: ManagementRequest,
        data: RequestBody[NewSavedMetric],
        saved_metrics: NamedDependency[SavedMetricService],
    ) -> SavedMetricRecord:
        """Create a metric that several experiments can have."""
        return await saved_metrics.create_metric(request.author, structs.asdict(data))

    @get("/{metric_id:str}", summary="Retrieve a saved metric")
    async def metric(
        self,
        request: ManagementRequest,
        metric_id: FromPath[ObjectId],
        saved_metrics: NamedDependency[SavedMetricService],
    ) -> SavedMetricRecord:
        return await saved_metrics.store.get_metric(request.project.id, metric_id)

    @patch("/{metric_id:str}", summary="Update a saved metric")
    async def change(
        self,
        request: ManagementRequest,
        metric_id: FromPath[ObjectId],
        data: RequestBody[SavedMetricChanges],
        saved_metrics: NamedDependency[SavedMetricService],
    ) -> SavedMetricRecord:
        """Change a saved metric, in all experiments that have it."""
        return await saved_metrics.change_metric(request.author, metric_id, given_fields(data))

    @delete("/{metric_id:str}", summary="Delete a saved metric")
    async def remove(
        self,
        request: ManagementRequest,
        metric_id: FromPath[ObjectId],
        saved_metrics: NamedDependency[SavedMetricService],
    ) -> None:
        """Delete a saved metric, also from the experiments that have it."""
        await saved_metrics.remove_metric(request.author, metric_id)
