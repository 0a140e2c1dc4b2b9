"""API that explains cohorts: criteria in words and SQL, history of calculations, preview."""

import asyncio
from collections.abc import Mapping
from functools import partial
from time import perf_counter
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import msgspec
from litestar import Controller, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, RequestBody

from fanion.cohorts.api import CohortService
from fanion.cohorts.calculation.inputs_store import CohortInputs
from fanion.cohorts.calculation.query_plan import PlanContext, QueryPlan, compile_plan
from fanion.cohorts.criteria.behaviour import CriteriaError
from fanion.cohorts.criteria.definition import UNSAVED, Criteria
from fanion.cohorts.criteria.describe import describe_criteria
from fanion.cohorts.criteria.resolve import Tree, resolve
from fanion.cohorts.criteria.validation import check_criteria
from fanion.cohorts.model import last_successful_run, read_runs
from fanion.cohorts.schemas import (
    Calculation,
    Explanation,
    LastRun,
    Preview,
    Previewed,
    calculation_body,
)
from fanion.cohorts.validation import require_cohorts
from fanion.errors import Invalid
from fanion.events.event import EventRejected, StatementFailed
from fanion.projects.request_api import ManagementRequest, scoped
from fanion.rest.endpoints import ObjectId
from fanion.rest.pagination import Paged

SAMPLE_MAX = 10
# A user waits for a preview, so its limit is shorter than that of a calculation.
PREVIEW_SECONDS_MAX = 20
TOO_LARGE = (
    f"The preview takes longer than {PREVIEW_SECONDS_MAX} seconds or needs too much memory. "
    "Use shorter time windows or fewer conditions."
)


class CohortExplanationsApi(Controller):
    path = "/api/projects/{project_id:str}/cohorts"
    tags = ("Cohorts",)
    opt = scoped("cohort")

    @get("/{cohort_id:str}/explain", summary="Explain how a cohort is calculated")
    async def explain(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        cohorts: NamedDependency[CohortService],
    ) -> Explanation:
        """Return the criteria in English and as SQL, and the cost of the last calculation."""
        cohort = await cohorts.get_cohort(request.project.id, cohort_id)
        succeeded = last_successful_run(
            await cohorts.store.load_runs(request.project.id, cohort_id)
        )
        run = (
            None if succeeded is None else msgspec.convert(succeeded, LastRun, from_attributes=True)
        )
        if cohort.criteria.is_static:
            return Explanation(
                sentence="Persons who were added by hand.",
                sql=None,
                parameters={},
                last_run=run,
                problem=cohort.last_error_message,
            )
        others = await cohorts.store.load_criteria(request.project.id)
        try:
            tree, plan, _ = _planned(request, cohort.criteria, others)
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

    @get("/{cohort_id:str}/calculation_history", summary="List a cohort's calculations")
    async def history(
        self,
        request: ManagementRequest,
        cohort_id: FromPath[ObjectId],
        cohorts: NamedDependency[CohortService],
    ) -> Paged[Calculation]:
        """Return the last 20 calculations and imports, newest first, including failed ones.

        An import of files says how many rows matched, and what the other rows contain.
        """
        await cohorts.get_cohort(request.project.id, cohort_id)
        runs = read_runs(await cohorts.store.load_runs(request.project.id, cohort_id))
        page = request.page
        some = runs[page.offset : page.offset + page.limit]
        return page.with_results([calculation_body(run) for run in some], len(runs))

    @post("/preview", status_code=200, summary="Preview criteria", reads=True)
    async def preview(
        self,
        request: ManagementRequest,
        data: RequestBody[Previewed],
        cohorts: NamedDependency[CohortService],
    ) -> Preview:
        """Return the number of persons who match now, and some of them."""
        check = partial(check_criteria, data.filters, complete=False)
        await asyncio.to_thread(check)
        criteria = Criteria(UNSAVED, None, False, data.filters, ())
        others = await cohorts.store.load_criteria(request.project.id)
        require_cohorts(criteria.nested_ids(), others)
        began = perf_counter()
        try:
            tree, plan, moment = _planned(request, criteria, others)
            inputs = CohortInputs(cohorts.store.records, cohorts.events)
            await inputs.put_members(moment.run, moment.project_id, plan.inputs, with_deleted=True)
            statement = plan.count(SAMPLE_MAX)
            answer = await cohorts.ask(
                moment.project_id, statement, plan.parameters, PREVIEW_SECONDS_MAX
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


def _planned(
    request: ManagementRequest, criteria: Criteria, others: Mapping[int, Criteria]
) -> tuple[Tree, QueryPlan, PlanContext]:
    project = request.project
    tree = resolve(criteria, others)
    zone = ZoneInfo(project.timezone)
    moment = PlanContext(project.id, request.app.state.now(), zone, uuid4())
    return tree, compile_plan(tree, moment), moment


def _cohort_names(others: Mapping[int, Criteria]) -> dict[int, str | None]:
    return {number: criteria.name for number, criteria in others.items()}


def _parameters(plan: QueryPlan) -> dict[str, Any]:
    parameters: dict[str, Any] = msgspec.to_builtins(dict(plan.parameters))
    return parameters
