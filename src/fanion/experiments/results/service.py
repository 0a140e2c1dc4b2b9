"""The results of experiments, from answers that are kept like those of insights.

Source: experiments.md, section 6.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain

from fanion.db.engine import Records
from fanion.errors import Invalid
from fanion.experiments.calculation.question import ExperimentQuestion, MetricQuestion
from fanion.experiments.metrics.model import Metric
from fanion.experiments.results.evaluation import Rules, evaluate, metric_body, rules_of
from fanion.experiments.results.experiment import MeasuredExperiment, MeasuredMetric, Role
from fanion.experiments.results.exposures import exposures_body, no_exposures
from fanion.experiments.results.progress import days_between, planned_body
from fanion.experiments.results.schemas import (
    ExposuresBody,
    MethodBody,
    MetricBody,
    PlannedBody,
    ResultsBody,
)
from fanion.experiments.results.verdicts import Evidence, verdict_of
from fanion.insights.model import NO_RESULT, CachedResult
from fanion.insights.questions.names_store import unknown_events
from fanion.insights.questions.result_cache import ResultCache
from fanion.projects.model import Project


@dataclass(frozen=True, slots=True)
class ExperimentResults:
    """The results of experiments.

    Every call raises EventStoreUnavailable, RecordsUnavailable, Unavailable or Invalid.

    Attributes:
        answers: The kept answers of the event store.
    """

    records: Records
    answers: ResultCache

    async def results(
        self,
        project: Project,
        experiment: MeasuredExperiment,
        now: datetime,
        *,
        phase: int | None = None,
        refresh: bool = False,
    ) -> ResultsBody:
        """Return the results of a phase, of the last one by default.

        Args:
            refresh: Whether all numbers are calculated again. Else an answer that is not recent is
                shown with its time, and renewed for the next request.

        Raises:
            Invalid: There is no such phase.
        """
        if not experiment.phases:
            return _of_draft(experiment)
        phase = phase_of(experiment, phase)
        about_exposures, questions = experiment.exposures(phase), experiment.questions(phase)
        kept, *kept_sums = await self._kept(project, [about_exposures, *questions], now, refresh)
        exposed = await self._known(project, about_exposures, kept, now)
        exposures = exposures_body(experiment, exposed.results, phase)
        unknown = await self._unknown_events(project, questions)
        metrics, times = [], [exposed.calculated_at]
        for measured, question, sums in zip(experiment.metrics, questions, kept_sums, strict=True):
            rules = rules_of(experiment, measured.role, phase)
            body, time = await self._metric(project, measured, question, sums, rules, now)
            if question is not None and body.error is None:
                _add_unknown(body, [event for event in question.events if event in unknown])
            metrics.append(body)
            times.append(time)
        as_of = min(time for time in times if time is not None)
        return _results(experiment, exposures, metrics, phase, as_of)

    async def _metric(
        self,
        project: Project,
        measured: MeasuredMetric,
        question: MetricQuestion | None,
        kept: CachedResult,
        rules: Rules,
        now: datetime,
    ) -> tuple[MetricBody, datetime | None]:
        """Return the results of a metric and the time of its numbers."""
        if question is None:
            return metric_body(measured), None
        try:
            known = await self._known(project, question, kept, now)
        except Invalid as error:
            failed = metric_body(measured)
            failed.error = error.detail
            return failed, None
        return evaluate(measured, question.metric, known.results, rules), known.calculated_at

    async def metric_results(
        self,
        project: Project,
        experiment: MeasuredExperiment,
        metric: Metric,
        role: Role,
        now: datetime,
        *,
        refresh: bool = False,
    ) -> tuple[MetricBody, CachedResult]:
        """Return the results of one metric, whether or not it is stored with the experiment.

        Raises:
            Invalid: The experiment has not started, or the metric cannot be calculated.
        """
        phase = phase_of(experiment, None)
        question = experiment.question(metric, phase)
        known = await self.answer(project, question, now, refresh)
        measured = MeasuredMetric(role, metric, metric.uuid, metric.name)
        rules = rules_of(experiment, role, phase)
        return evaluate(measured, metric, known.results, rules), known

    async def answer(
        self, project: Project, question: ExperimentQuestion, now: datetime, refresh: bool
    ) -> CachedResult:
        """Return the kept answer to a question, and a new one if there is none or by `refresh`."""
        [kept] = await self._kept(project, [question], now, refresh)
        return await self._known(project, question, kept, now)

    async def _kept(
        self,
        project: Project,
        questions: Sequence[ExperimentQuestion | None],
        now: datetime,
        refresh: bool,
    ) -> Sequence[CachedResult]:
        """Return the kept answer to each question, NO_RESULT where there is none."""
        if refresh:
            return [NO_RESULT] * len(questions)
        return await self.answers.cached_and_renewed(project, questions, now)

    async def _known(
        self, project: Project, question: ExperimentQuestion, kept: CachedResult, now: datetime
    ) -> CachedResult:
        if kept.calculated_at is not None:
            return kept
        return await self.answers.calculate(project, question, now)

    async def _unknown_events(
        self, project: Project, questions: Sequence[MetricQuestion | None]
    ) -> Collection[str]:
        """Return the events of metrics that the project never received."""
        named = (question.events for question in questions if question is not None)
        names = dict.fromkeys(chain.from_iterable(named))
        return set(await unknown_events(self.records, project.id, names))


def _add_unknown(body: MetricBody, events: Sequence[str]) -> None:
    if events:
        body.unknown_event = list(dict.fromkeys(events))
        body.problems = [*body.problems, "unknown_event"]


def phase_of(experiment: MeasuredExperiment, phase: int | None) -> int:
    """Return the number of a phase, of the last one by default.

    Raises:
        Invalid: There is no such phase.
    """
    count = len(experiment.phases)
    if not count:
        raise Invalid("Experiment has not been launched yet.", attr="experiment_id")
    if phase is None:
        return count - 1
    if not 0 <= phase < count:
        raise Invalid(f"Ensure this value is between 0 and {count - 1}.", attr="phase")
    return phase


def _results(
    experiment: MeasuredExperiment,
    exposures: ExposuresBody,
    metrics: list[MetricBody],
    phase: int,
    as_of: datetime,
) -> ResultsBody:
    window = experiment.window(phase)
    until = window.until(as_of)
    days = days_between(window.phase_at, until)
    compared = experiment.compared(phase)
    planned = planned_body(
        experiment.plan,
        exposures,
        len(compared) + 1,
        days,
        has_ended=window.ended_at is not None,
    )
    evidence = Evidence(
        exposures=exposures,
        metrics=metrics,
        planned=planned,
        days=days,
        baseline=experiment.baseline,
        is_protected=experiment.stats.method.is_protected,
        effect=experiment.plan.effect,
        are_groups=experiment.group_type_index is not None,
        split=dict(experiment.percentages(phase)),
    )
    return ResultsBody(
        experiment_id=experiment.id,
        status=experiment.status,
        start=window.phase_at,
        end=window.ended_at,
        as_of=as_of,
        phase=phase,
        method=_method(experiment, len(compared)),
        exposures=exposures,
        planned=planned,
        metrics=metrics,
        verdict=verdict_of(evidence),
    )


def _of_draft(experiment: MeasuredExperiment) -> ResultsBody:
    exposures = no_exposures(experiment)
    planned = PlannedBody(per_variant=None, reached=None, days_left=None)
    evidence = Evidence(
        exposures=exposures,
        metrics=(),
        planned=planned,
        days=0,
        baseline="",
        split={},
        has_started=False,
    )
    return ResultsBody(
        experiment_id=experiment.id,
        status=experiment.status,
        as_of=None,
        phase=None,
        method=_method(experiment, max(len(experiment.variants) - 1, 0)),
        exposures=exposures,
        planned=planned,
        metrics=[metric_body(measured) for measured in experiment.metrics],
        verdict=verdict_of(evidence),
    )


def _method(experiment: MeasuredExperiment, compared: int) -> MethodBody:
    method = experiment.stats.method
    return MethodBody(
        name=method.name,
        alpha=method.alpha,
        comparisons=len(experiment.with_role("primary")) * compared,
        tuning_parameter=method.tuning,
        peeking="protected" if method.is_protected else "unprotected",
    )
