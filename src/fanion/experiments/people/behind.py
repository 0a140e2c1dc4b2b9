"""The place of a number in the results of an experiment, and the query for the units behind it."""

from typing import Annotated, Final

from msgspec import Meta, Struct, structs

from fanion.errors import Invalid
from fanion.experiments.calculation.exposures_sql import EARLIER, HELD_OUT
from fanion.experiments.calculation.people_sql import exposed_statement, measured_statement
from fanion.experiments.calculation.question import ExposureQuestion, MetricQuestion
from fanion.experiments.calculation.units_sql import MULTIPLE
from fanion.experiments.metrics.model import FunnelMetric, Metric
from fanion.experiments.results.experiment import MeasuredExperiment
from fanion.experiments.results.service import phase_of
from fanion.insights.actors.service import ActorsQuery
from fanion.insights.calculation.service import Calculation
from fanion.insights.sql.compiler import Statement
from fanion.rest.unknown_fields import no_choice

STEPS_MAX: Final = 1_000
PHASES_MAX: Final = 1_000
Step = Annotated[int, Meta(ge=1, le=STEPS_MAX)]
Phase = Annotated[int, Meta(ge=0, le=PHASES_MAX)]
# Maps the names of units without a variant to the place where exposures count them.
_WITHOUT_ARM: Final = {"$multiple": MULTIPLE, "$holdout": HELD_OUT, "$earlier_phases": EARLIER}


class Behind(Struct, frozen=True, kw_only=True):
    """A number in the results of an experiment."""

    variant: Annotated[
        str, Meta(description="A variant, or `$multiple`, `$holdout` or `$earlier_phases`.")
    ]
    metric: Annotated[
        str | None, Meta(description="The `uuid` of a metric in the results; null for exposures.")
    ] = None
    converted: Annotated[
        bool | None, Meta(description="With a metric: whether the value is other than 0.")
    ] = None
    step: Annotated[
        Step | None, Meta(description="With a funnel: the step that was reached, from 1.")
    ] = None
    phase: Annotated[
        Phase | None, Meta(description="The number of a phase, from 0; null for the last.")
    ] = None


def read_behind(experiment: MeasuredExperiment, behind: Behind) -> ActorsQuery:
    """Return the query for the units that a number counts; its place names the phase.

    Raises:
        Invalid: The results have no such number.
    """
    phase = phase_of(experiment, behind.phase)
    behind = structs.replace(behind, phase=phase)
    if behind.metric is None:
        return _exposed(experiment, behind, phase)
    if behind.variant not in experiment.variants:
        raise no_choice(behind.variant, experiment.variants, "variant")
    metric = _metric(experiment, behind.metric)
    if behind.step is not None:
        _require_step(metric, behind.step)
    question = experiment.question(metric, phase)
    return ActorsQuery(question, behind, experiment.group_type_index, find_measured)


def _exposed(experiment: MeasuredExperiment, behind: Behind, phase: int) -> ActorsQuery:
    for name in ("converted", "step"):
        if getattr(behind, name) is not None:
            detail = "Exposures have no such part. Leave it out, or name a metric."
            raise Invalid(detail, attr=name)
    if behind.variant not in (names := (*experiment.variants, *_WITHOUT_ARM)):
        raise no_choice(behind.variant, names, "variant")
    question = experiment.exposures(phase)
    return ActorsQuery(question, behind, experiment.group_type_index, _find_exposed)


def _metric(experiment: MeasuredExperiment, uuid: str) -> Metric:
    measured = next((each for each in experiment.metrics if each.uuid == uuid), None)
    if measured is None:
        known = [each.uuid for each in experiment.metrics if each.uuid is not None]
        raise no_choice(uuid, known, "metric")
    if measured.metric is None:
        raise Invalid(measured.error or "The metric cannot be calculated.", attr="metric")
    return measured.metric


def _require_step(metric: Metric, step: int) -> None:
    if not isinstance(metric, FunnelMetric):
        raise Invalid("Only a funnel has steps. Leave it out.", attr="step")
    if step > len(metric.series):
        detail = f"Ensure this value is between 1 and {len(metric.series)}."
        raise Invalid(detail, attr="step")


def _arm(question: ExposureQuestion | MetricQuestion, behind: Behind) -> int:
    return question.window.variants.index(behind.variant) + 1


async def _find_exposed(
    calculation: Calculation, question: ExposureQuestion, behind: Behind
) -> Statement:
    is_variant = behind.variant in question.window.variants
    place = _arm(question, behind) if is_variant else _WITHOUT_ARM[behind.variant]
    return exposed_statement(calculation, question, place)


async def find_measured(
    calculation: Calculation, question: MetricQuestion, behind: Behind
) -> Statement:
    arm = _arm(question, behind)
    return measured_statement(calculation, question, arm, behind.converted, behind.step)
