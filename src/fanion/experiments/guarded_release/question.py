"""The question of a guarded release's step: what people inside and outside of its rollout did.

The arms follow from the hash of the distinct id, not from what SDKs report: they report a value
once, so that people who are switched on report again, and others do not.

Source: experiments.md section 5c.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from fanion.errors import Invalid
from fanion.experiments.calculation.question import MetricQuestion, Window
from fanion.experiments.guarded_release.measuring import CONTROL, TREATED
from fanion.experiments.metrics.exposure import ExposureCriteria
from fanion.experiments.metrics.model import Metric
from fanion.flags.engine.definition import FlagRow, Rules, grouped_filters, parse_rules
from fanion.properties.filters import ConditionGroup, InCohort, Property
from fanion.properties.filters import Node as Conditions

# Names that evaluation adds to the properties, and the event store does not have.
_IMPLIED: Final = ("distinct_id", "$group_key")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepQuestion(MetricQuestion):
    """The sums of a metric in one step, inside and outside of the rollout.

    Attributes:
        step_at: The start of the step, before which nothing counts.
        percentage: The rollout of the step.
    """

    step_at: datetime
    percentage: float


def step_question(
    flag: FlagRow,
    condition_index: int,
    metric: Metric,
    *,
    started_at: datetime,
    step_at: datetime,
    percentage: float,
) -> StepQuestion:
    """Return the question of one metric in the current step.

    Args:
        started_at: The start of the release. Whoever called the flag since then is eligible.

    Raises:
        Invalid: The condition set cannot be compared in the event store.
    """
    rules = parse_rules(grouped_filters(flag))
    criteria = ExposureCriteria(
        conditions=conditions_of(rules, condition_index), multiple_variants="first_seen"
    )
    window = Window(
        flag_key=flag.key,
        variants=(CONTROL, TREATED),
        started_at=started_at,
        phase_at=started_at,
        group_type_index=rules.group_type_index,
        criteria=criteria,
    )
    return StepQuestion(window=window, metric=metric, step_at=step_at, percentage=percentage)


def conditions_of(rules: Rules, condition_index: int) -> Conditions | None:
    """Return the conditions of a condition set as the event store compares them.

    Raises:
        Invalid: There is no such condition set, or one of its conditions cannot be compared.
    """
    if condition_index >= len(rules.conditions):
        raise Invalid(
            f"The feature flag has no condition set {condition_index}.", attr="condition_index"
        )
    leaves: list[Conditions] = []
    for leaf in rules.conditions[condition_index].leaves:
        is_stored = isinstance(leaf, Property) and leaf.key not in _IMPLIED
        if not (is_stored or isinstance(leaf, InCohort)):
            raise Invalid(
                "A guarded release needs a condition set with conditions on stored properties and "
                "cohorts only.",
                attr="condition_index",
            )
        if isinstance(leaf, Property) and leaf.type == "event":
            leaf = replace(leaf, type="person")  # as evaluation reads a condition without a type
        leaves.append(leaf)
    return ConditionGroup("AND", tuple(leaves)) if leaves else None
