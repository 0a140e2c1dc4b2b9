"""The parts of a funnel's question: its window, its steps and what is excluded between them.

Source: insights.md, section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from fanion.insights.entities import NAMES_OF_ENTITY, PERSON_MATHS, Entity
from fanion.insights.funnels.steps import contains
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import StrictOptions, whole, word
from fanion.rest.options import Before, Options, read
from fanion.rest.posthog_insight_fields import OF_ENTITY

StepOrder = Literal["ordered", "strict", "unordered"]
WindowUnit = Literal["second", "minute", "hour", "day", "week", "month"]

STEPS_MAX: Final = 20
EXCLUSIONS_MAX: Final = 20
WINDOW_SECONDS_MAX: Final = 3_650 * 86_400

_SECONDS: Final = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 7 * 86_400,
    "month": 31 * 86_400,
}


@dataclass(frozen=True, slots=True)
class Window(Options):
    """The time after the first step in which the others count, its last instant included.

    Attributes:
        days: The number of days, which wins over the other names.
    """

    number: Annotated[int, whole(1, WINDOW_SECONDS_MAX, "funnel_window_interval")] = 14
    unit: Annotated[WindowUnit, word(get_args(WindowUnit), "funnel_window_interval_unit")] = "day"
    days: Annotated[
        int | None, whole(1, WINDOW_SECONDS_MAX // _SECONDS["day"], "funnel_window_days")
    ] = None

    def completed(self, fields: Fields) -> Self:
        if self.days is not None:
            return replace(self, number=self.days, unit="day", days=None)
        limit = WINDOW_SECONDS_MAX // _SECONDS[self.unit]
        if self.number > limit:
            detail = f"Ensure this value is between 1 and {limit}."
            raise fields.error("funnel_window_interval", detail)
        return self


@dataclass(frozen=True, slots=True)
class Step(StrictOptions):
    """A step whose math means persons: a funnel counts nothing else."""

    called = "Steps of a funnel"
    passed_over = NAMES_OF_ENTITY

    entity: Entity
    math: ClassVar[Annotated[str, word(PERSON_MATHS)]]


@dataclass(frozen=True, slots=True)
class Exclusion(StrictOptions):
    """An event that must not happen between two steps, which count from 0.

    Source: insights.md, section 5d, "400 when".
    """

    required = ("funnel_from_step", "funnel_to_step")
    known = OF_ENTITY
    called = "Exclusions"
    passed_over = NAMES_OF_ENTITY

    entity: Entity
    from_step: Annotated[int, whole(0, STEPS_MAX, "funnel_from_step")]
    to_step: Annotated[int, whole(0, STEPS_MAX, "funnel_to_step")]

    def check(self, fields: Fields, steps: Sequence[Entity], order: StepOrder) -> None:
        """Raise Invalid if the exclusion does not fit the steps of its funnel."""
        span, last = (self.from_step, self.to_step), len(steps) - 1
        if self.from_step >= self.to_step:
            detail = "An exclusion must end at a later step than it starts."
            raise fields.error("funnel_from_step", detail)
        if self.from_step >= last:
            raise fields.error("funnel_from_step", "An exclusion must start before the last step.")
        if self.to_step > last:
            raise fields.error("funnel_to_step", "An exclusion must end at a step of the funnel.")
        if order == "unordered" and span != (0, last):
            detail = "An exclusion of an unordered funnel must span all of its steps."
            raise fields.error("funnel_from_step", detail)
        if any(contains(self.entity, step) for step in steps[self.from_step : self.to_step + 1]):
            detail = "An exclusion cannot be, or contain, one of the steps it spans."
            raise fields.error("id", detail)


def read_exclusions(fields: Fields, name: str, before: Before) -> tuple[Exclusion, ...]:
    return tuple(_exclusion(item, before) for item in fields.items(name, EXCLUSIONS_MAX))


def _exclusion(fields: Fields, before: Before) -> Exclusion:
    exclusion = read(Exclusion, fields)
    exclusion.check(fields, before["steps"], before["order"])
    return exclusion
