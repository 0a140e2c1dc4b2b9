"""Explanations of cohorts: criteria in words and SQL, history of calculations, preview."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from time import perf_counter
from typing import Any, Protocol
from uuid import uuid4
from zoneinfo import ZoneInfo

import msgspec

from fanion.actions.store import resolve_actions
from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.cohorts.calculation.query_plan import PlanContext, QueryPlan, compile_plan
from fanion.cohorts.criteria.definition import UNSAVED, Criteria, CriteriaError
from fanion.cohorts.criteria.describe import describe_criteria
from fanion.cohorts.criteria.resolve import Tree, actions_named, resolve, with_actions_of
from fanion.cohorts.criteria.validation import check_criteria
from fanion.cohorts.model import CalculationRun, last_successful_run, read_runs
from fanion.cohorts.schemas import Explanation, LastRun, Preview
from fanion.cohorts.service import CohortService
from fanion.cohorts.validation import require_cohorts
from fanion.errors import Invalid
from fanion.events.event import EventRejected, StatementFailed
from fanion.events.storage.compiled_query import StatementResult
from fanion.events.storage.store import EventStore
from fanion.projects.model import Project

SAMPLE_MAX = 10
# A user waits for a preview, so its limit is shorter than that of a calculation.
PREVIEW_SECONDS_MAX = 20
TOO_LARGE = (
    f"The preview takes longer than {PREVIEW_SECONDS_MAX} seconds or needs too much memory. "
    "Use shorter time windows or fewer conditions."
)


class RunPreview(Protocol):
    """A call that runs a statement, for which a client waits, when its turn comes.

    Raises:
        Unavailable: Too many statements wait.

    `EventStore.ask` may raise further errors.
    """

    def __call__(
        self, project_id: int, text: str, parameters: Mapping[str, Any], seconds_max: int, /
    ) -> Coroutine[Any, Any, StatementResult]: ...


@dataclass(frozen=True, slots=True)
class CohortExplanations:
    cohorts: CohortService
    events: EventStore
    run_preview: RunPreview

    async def explain(self, project: Project, cohort_id: int, now: datetime) -> Explanation:
        """Return the criteria in English and as SQL, and the cost of the last calculation.

        Raises:
            NotFound: The project has no such cohort.
        """
        store = self.cohorts.store
        cohort = await self.cohorts.get_cohort(project.id, cohort_id)
        succeeded = last_successful_run(await store.load_runs(project.id, cohort_id))
        run = (
            None if succeeded is None else msgspec.convert(succeeded, LastRun, from_attributes=True)
        )
        if cohort.is_static:
            return Explanation(
                sentence="Persons who were added by hand.",
                sql=None,
                parameters={},
                last_run=run,
                problem=cohort.last_error_message,
            )
        others = await store.load_criteria(project.id)
        try:
            tree, plan, _ = await self._plan(project, cohort.criteria, others, now)
        except CriteriaError as error:
            return Explanation(
                sentence=None, sql=None, parameters={}, last_run=run, problem=str(error)
            )
        return Explanation(
            sentence=describe_criteria(tree, _cohort_names(others)),
            sql=plan.members,
            parameters=_parameters(plan),
            last_run=run,
            problem=cohort.last_error_message,
        )

    async def calculation_history(self, project_id: int, cohort_id: int) -> list[CalculationRun]:
        """Return the last calculations and imports, newest first.

        Raises:
            NotFound: The project has no such cohort.
        """
        await self.cohorts.get_cohort(project_id, cohort_id)
        return read_runs(await self.cohorts.store.load_runs(project_id, cohort_id))

    async def preview(self, project: Project, filters: Any, now: datetime) -> Preview:
        """Return the number of persons who match now, and some of them.

        Raises:
            Invalid: The criteria are wrong, or take too long to evaluate.
        """
        await asyncio.to_thread(partial(check_criteria, filters, complete=False))
        criteria = Criteria(UNSAVED, None, False, filters, ())
        others = await self.cohorts.store.load_criteria(project.id)
        require_cohorts(criteria.nested_ids(), others)
        began = perf_counter()
        try:
            tree, plan, context = await self._plan(project, criteria, others, now)
            inputs = CohortInputs(self.cohorts.records, self.events)
            await inputs.put_members(context.run, project.id, plan.inputs, with_deleted=True)
            answer = await self.run_preview(
                project.id, plan.count(SAMPLE_MAX), plan.parameters, PREVIEW_SECONDS_MAX
            )
        except (CriteriaError, EventRejected) as error:
            raise Invalid(str(error), attr="filters") from None
        except StatementFailed:
            raise Invalid(TOO_LARGE, code="too_large", attr="filters") from None
        (count,), (sample,) = answer.columns
        return Preview(
            count=count,
            sample=sample,
            sentence=describe_criteria(tree, _cohort_names(others)),
            sql=plan.members,
            parameters=_parameters(plan),
            seconds=round(perf_counter() - began, 3),
            rows_read=answer.rows_read,
        )

    async def _plan(
        self, project: Project, criteria: Criteria, others: Mapping[int, Criteria], now: datetime
    ) -> tuple[Tree, QueryPlan, PlanContext]:
        tree = resolve(criteria, others)
        named = actions_named(tree)
        actions = await resolve_actions(self.cohorts.records, project.id, named)
        tree = with_actions_of(tree, actions)
        context = PlanContext(project.id, now, ZoneInfo(project.timezone), uuid4())
        return tree, compile_plan(tree, context), context


def _cohort_names(others: Mapping[int, Criteria]) -> dict[int, str | None]:
    return {number: criteria.name for number, criteria in others.items()}


def _parameters(plan: QueryPlan) -> dict[str, Any]:
    parameters: dict[str, Any] = msgspec.to_builtins(dict(plan.parameters))
    return parameters
