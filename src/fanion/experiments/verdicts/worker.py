"""The worker that calculates running experiments every hour and reports changed verdicts."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import structlog

from fanion.db.due_work import DueRow, LeasedWorker
from fanion.errors import Invalid, Unavailable
from fanion.events.event import EventStoreUnavailable
from fanion.experiments.results.reading import measured_experiment
from fanion.experiments.results.schemas import ResultsBody
from fanion.experiments.results.service import ExperimentResults
from fanion.experiments.verdicts.store import VerdictStore
from fanion.projects.model import Project


class VerdictWorker(LeasedWorker[Project]):
    """The worker that calculates running experiments, so that their cached results are recent.

    Args:
        project_of: Returns a project by its id.
    """

    waits, all_wait, id_name = "experiment_waits", "experiments_wait", "experiment"
    expected = (EventStoreUnavailable, Unavailable)

    def __init__(
        self,
        store: VerdictStore,
        results: ExperimentResults,
        project_of: Callable[[int], Awaitable[Project | None]],
        now: Callable[[], datetime],
    ) -> None:
        super().__init__(store.checks, project_of, now)
        self._store = store
        self._results = results

    async def _due_items(self, now: datetime) -> Sequence[DueRow]:
        return await self._store.due_experiments(now)

    async def _process(self, row: DueRow, project: Project) -> None:
        results = None
        try:
            results = await self._calculate(row, project)
        except Invalid as error:
            structlog.get_logger().info(
                "experiment_not_calculated", experiment=row.id, reason=str(error)
            )
        await self._store.finish_check(row, results, self._now())

    async def _calculate(self, row: DueRow, project: Project) -> ResultsBody | None:
        """Calculate all metrics of an experiment again."""
        experiment = await self._store.find_experiment(project.id, row.id)
        if experiment is None:
            return None
        measured = measured_experiment(experiment, project)
        return await self._results.results(project, measured, self._now(), refresh=True)
