"""Plans of experiments, calculated from the events of the last days.

Source: experiments.md, section 4h.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from fanion.experiments.calculation.question import MetricQuestion, Window
from fanion.experiments.calculation.sums_service import ExperimentCalculator
from fanion.experiments.metrics.reading import read_metric
from fanion.experiments.planning.plan import DAYS, EVERYBODY, plan_of, shares_of
from fanion.experiments.planning.schemas import NewPlan, PlanBody
from fanion.insights.entities import Entity
from fanion.projects.model import Project


@dataclass(frozen=True, slots=True)
class ExperimentPlans:
    """The plans of experiments."""

    calculator: ExperimentCalculator

    async def plan(self, project: Project, new_plan: NewPlan, now: datetime) -> PlanBody:
        """Return how many units and days an experiment needs.

        Raises:
            Invalid: The metric or the shares cannot be read.
            EventStoreUnavailable: The event store does not answer.
            Unavailable: Too many questions wait.
        """
        metric = read_metric(new_plan.metric, "metric")
        shares = shares_of(new_plan)
        start = now - timedelta(days=DAYS)
        window = Window(
            flag_key="",
            variants=(EVERYBODY,),
            started_at=start,
            phase_at=start,
            group_type_index=new_plan.aggregation_group_type_index,
            population=Entity(event=new_plan.exposure_event or None),
        )
        answer = await self.calculator.answer(project, MetricQuestion(window, metric), now)
        return plan_of(new_plan, metric, answer["results"], shares)
