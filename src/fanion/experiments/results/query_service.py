"""Answers to the two kinds of queries about experiments that newer clients send.

Source: experiments.md, sections 1d and 6.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from fanion.errors import NotFound
from fanion.experiments.metrics.exposure import read_criteria
from fanion.experiments.metrics.reading import read_metric
from fanion.experiments.results.experiment import MeasuredExperiment, Role
from fanion.experiments.results.exposures import exposures_body
from fanion.experiments.results.reading import measured_experiment, with_criteria
from fanion.experiments.results.service import ExperimentResults, phase_of
from fanion.experiments.results.wire import exposure_answer, metric_answer
from fanion.experiments.store import ExperimentStore
from fanion.insights.model import CachedResult
from fanion.insights.parsing.fields import Fields
from fanion.insights.questions.result_cache import cache_key
from fanion.insights.questions.service import Refresh
from fanion.insights.schemas import QueryResultBody, with_more
from fanion.projects.model import Project
from fanion.rest.unknown_fields import require_known
from fanion.rest.validation import INTEGER_MAX

_COMMON: Final = frozenset({"kind", "experiment_id", "response", "version", "tags", "modifiers"})
_OF_METRIC: Final = _COMMON | {
    *("metric", "name", "fingerprint", "metric_uuid", "experiment_query_id", "stats_version"),
}
_OF_EXPOSURES: Final = _COMMON | {
    *("feature_flag", "start_date", "end_date", "exposure_criteria", "holdout", "experiment_name"),
}


@dataclass(frozen=True, slots=True)
class ExperimentQueries:
    """The answers to queries about experiments.

    Every call raises Invalid for a query that cannot be read or calculated, EventStoreUnavailable,
    Unavailable and RecordsUnavailable.
    """

    store: ExperimentStore
    experiments: ExperimentResults

    async def metric(
        self, project: Project, fields: Fields, now: datetime, refresh: Refresh
    ) -> QueryResultBody:
        """Return the results of one metric of an experiment."""
        require_known(fields.values, _OF_METRIC, fields.at)
        experiment = await self._experiment(project, fields)
        sent = fields.inner("metric")
        if sent is None:
            raise fields.required("metric")
        metric = read_metric(
            sent.values, sent.at, is_guardrail=True, exposure_event=experiment.criteria.event
        )
        role = _role(experiment, metric.uuid)
        body, known = await self.experiments.metric_results(
            project, experiment, metric, role, now, refresh=refresh == "now"
        )
        question = experiment.question(metric, phase_of(experiment, None))
        answer = metric_answer(body, experiment.stats, sent.values)
        return _body(project, known, cache_key(project, question), answer)

    async def exposures(
        self, project: Project, fields: Fields, now: datetime, refresh: Refresh
    ) -> QueryResultBody:
        """Return the exposures, by the criteria and the end of the query if it has them.

        The start, the flag and the holdout are those of the experiment.
        """
        require_known(fields.values, _OF_EXPOSURES, fields.at)
        experiment = await self._experiment(project, fields)
        if fields.raw("exposure_criteria") is not None:
            place = fields.place("exposure_criteria")
            criteria = read_criteria(fields.raw("exposure_criteria"), place)
            experiment = with_criteria(experiment, criteria, project)
        end = _date(fields, "end_date")
        if end is not None:
            experiment = replace(experiment, ended_at=end)
        phase = phase_of(experiment, None)
        question = experiment.exposures(phase)
        known = await self.experiments.answer(project, question, now, refresh == "now")
        answer = exposure_answer(experiment, exposures_body(experiment, known.results, phase))
        return _body(project, known, cache_key(project, question), answer)

    async def _experiment(self, project: Project, fields: Fields) -> MeasuredExperiment:
        number = fields.whole("experiment_id", 1, INTEGER_MAX)
        if number is None:
            raise fields.required("experiment_id")
        try:
            experiment = await self.store.get_experiment(project.id, number)
        except NotFound:
            detail = f'Invalid pk "{number}" - object does not exist.'
            raise fields.error("experiment_id", detail) from None
        return measured_experiment(experiment, project)


def _role(experiment: MeasuredExperiment, uuid: str | None) -> Role:
    """Return the role of a metric; one that is not stored counts as a primary one."""
    for measured in experiment.metrics:
        if uuid is not None and measured.uuid == uuid:
            return measured.role
    return "primary"


def _date(fields: Fields, name: str) -> datetime | None:
    sent = fields.text(name)
    if sent is None:
        return None
    refused = fields.error(name, "Must be a date and time with an offset, such as Z.")
    try:
        moment = datetime.fromisoformat(sent)
    except ValueError:
        raise refused from None
    if moment.tzinfo is None:
        raise refused
    return moment


def _body(
    project: Project, known: CachedResult, key: str, answer: Mapping[str, Any]
) -> QueryResultBody:
    body = QueryResultBody(
        results=answer,
        timezone=project.timezone,
        last_refresh=known.calculated_at,
        is_cached=known.is_cached,
        cache_key=key,
    )
    return with_more(body, known, answer)
