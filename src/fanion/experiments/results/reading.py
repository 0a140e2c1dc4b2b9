"""Conversion of stored experiments into the form from which results are calculated.

Source: experiments.md, sections 1a and 1c.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid5

from fanion.errors import Invalid
from fanion.experiments.metrics.exposure import ExposureCriteria, read_criteria
from fanion.experiments.metrics.reading import read_metric
from fanion.experiments.metrics.stats_config import StatsConfig, read_stats_config
from fanion.experiments.model import Experiment, MetricLink
from fanion.experiments.results.experiment import (
    MeasuredExperiment,
    MeasuredMetric,
    Phase,
    Plan,
    Role,
)
from fanion.experiments.statistics.sequential import TUNING_DEFAULT
from fanion.flags.definitions.model import variant_shares
from fanion.flags.engine.definition import grouped_filters
from fanion.insights.parsing.conditions import project_conditions
from fanion.projects.model import Project

_SAVED: Final = UUID("0c0e4f0c-3b53-4f0b-8a53-0d2f3a2f2c11")
_ROLES: Final[Mapping[str, Role]] = {
    "primary": "primary",
    "secondary": "secondary",
    "guardrail": "guardrail",
}


def measured_experiment(experiment: Experiment, project: Project) -> MeasuredExperiment:
    """Return the parts of a stored experiment from which results are calculated.

    Raises:
        Invalid: Its method or exposure criteria cannot be calculated.
    """
    criteria = read_criteria(experiment.exposure_criteria)
    parameters = experiment.parameters or {}
    plan = _plan(parameters)
    filters = _filters(experiment)
    phases = tuple(Phase(each.started_at, each.variants) for each in experiment.phases)
    shares = variant_shares(filters) or (dict(phases[-1].percentages) if phases else {})
    return MeasuredExperiment(
        id=experiment.id,
        status=experiment.status,
        flag_key=experiment.feature_flag_key,
        variants=_variants(shares, phases),
        started_at=experiment.start_date,
        ended_at=experiment.end_date,
        phases=phases,
        criteria=criteria,
        stats=_stats(experiment, plan),
        metrics=tuple(_metrics(experiment, criteria)),
        group_type_index=_group_type(parameters, filters),
        accounts=_accounts(criteria, project),
        plan=plan,
        excluded=frozenset(map(str, parameters.get("excluded_variants") or ())),
        only_matured=experiment.only_count_matured_users,
        has_forced_variants=any(group.get("variant") for group in filters.get("groups") or ()),
    )


def with_criteria(
    experiment: MeasuredExperiment, criteria: ExposureCriteria, project: Project
) -> MeasuredExperiment:
    """Return the experiment with other criteria than the stored ones."""
    return replace(experiment, criteria=criteria, accounts=_accounts(criteria, project))


def _accounts(criteria: ExposureCriteria, project: Project) -> Any:
    if not criteria.filter_test_accounts:
        return None
    return project_conditions(project.test_account_filters)


def _filters(experiment: Experiment) -> Mapping[str, Any]:
    return {} if experiment.flag is None else grouped_filters(experiment.flag.definition)


def _variants(shares: Mapping[str, float], phases: tuple[Phase, ...]) -> tuple[str, ...]:
    """Return the keys of the flag's variants, and those that earlier phases had."""
    earlier = (key for phase in phases for key in phase.percentages)
    return tuple(dict.fromkeys([*shares, *earlier]))


def _plan(parameters: Mapping[str, Any]) -> Plan:
    units = _positive(parameters.get("recommended_sample_size"))
    return Plan(
        None if units is None else int(units),
        _positive(parameters.get("recommended_running_time")),
        _positive(parameters.get("minimum_detectable_effect")),
    )


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if value > 0 else None


def _stats(experiment: Experiment, plan: Plan) -> StatsConfig:
    """Return the method, tuned for the planned number of units if it says nothing else."""
    stats = read_stats_config(experiment.stats_config)
    if plan.units is None or stats.method.tuning != TUNING_DEFAULT:
        return stats
    return replace(stats, method=replace(stats.method, tuning=plan.units))


def _group_type(parameters: Mapping[str, Any], filters: Mapping[str, Any]) -> int | None:
    for source in (filters, parameters):
        index = source.get("aggregation_group_type_index")
        if isinstance(index, int) and not isinstance(index, bool):
            return index
    return None


def _metrics(experiment: Experiment, criteria: ExposureCriteria) -> Iterator[MeasuredMetric]:
    """Yield the metrics of the experiment, with its saved ones after those of their role."""
    own: tuple[tuple[Role, list[dict[str, Any]]], ...] = (
        ("primary", experiment.metrics),
        ("secondary", experiment.metrics_secondary),
        ("guardrail", experiment.guardrail_metrics),
    )
    for role, documents in own:
        for document in documents:
            yield _measured(role, document, None, criteria)
        for link in experiment.links:
            if _role_of(link) == role:
                yield _measured(role, _identified(link), link.name, criteria)


def _identified(link: MetricLink) -> Mapping[str, Any]:
    """Return the metric with a `uuid`, by which its people are asked for."""
    return {"uuid": str(uuid5(_SAVED, str(link.saved_metric))), **link.query}


def _role_of(link: MetricLink) -> Role:
    return _ROLES.get(str(link.metadata.get("type")), "secondary")


def _measured(
    role: Role, document: Mapping[str, Any], name: str | None, criteria: ExposureCriteria
) -> MeasuredMetric:
    """Return a metric, or why a stored one cannot be calculated."""
    uuid, own = document.get("uuid"), document.get("name") or name
    known = uuid if isinstance(uuid, str) else None
    shown = own if isinstance(own, str) else None
    try:
        metric = read_metric(
            document,
            "metric",
            is_guardrail=role == "guardrail",
            exposure_event=criteria.event,
        )
    except Invalid as error:
        return MeasuredMetric(role, None, known, shown, error.detail)
    return MeasuredMetric(role, metric, known, shown or metric.label)
