"""The parts of a funnel's question: its window, its steps and what is excluded between them.

Source: insights.md, section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Final, Literal, Self, get_args

from dateutil.relativedelta import relativedelta

from fanion.errors import Invalid
from fanion.insights.entities import FIRST_TIMES, NAMES_OF_ENTITY, PERSON_MATHS, Entity
from fanion.insights.funnels.steps import can_share, contains
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import StrictOptions, switch, whole, word
from fanion.rest.options import Before, Options, read
from fanion.rest.posthog_insight_fields import OF_ENTITY

StepOrder = Literal["ordered", "strict", "unordered"]
WindowUnit = Literal["second", "minute", "hour", "day", "week", "month"]

OPTIONAL: Final = "optionalInFunnel"
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

    def after(self, start: datetime) -> datetime:
        """Return when a window ends that begins at a time."""
        if self.unit == "month":
            return start + relativedelta(months=self.number)
        return start + timedelta(seconds=self.number * _SECONDS[self.unit])

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
    """A step whose math means persons, or their first time: a funnel counts nothing else."""

    called = "Steps of a funnel"
    passed_over = NAMES_OF_ENTITY

    entity: Entity
    math: Annotated[str, word((*PERSON_MATHS, *FIRST_TIMES))] = PERSON_MATHS[0]
    is_optional: Annotated[bool, switch(OPTIONAL)] = False

    def completed(self, fields: Fields) -> Self:
        first_time = self.math if self.math in FIRST_TIMES else None
        optional_at = fields.place(OPTIONAL) if self.is_optional else None
        entity = replace(self.entity, first_time=first_time, optional_at=optional_at)
        return replace(self, entity=entity)


@dataclass(frozen=True, slots=True)
class OptionalStep:
    """A step between two required ones that may be skipped.

    Attributes:
        number: The place of the step among all steps, from 0.
        after: The place among the required steps of the one before it, from 0.
        is_apart: Whether its events must come at another moment than those of required steps, as
            one event may match both.
        blockers: The places among the optional steps of those that follow before the next required
            step, each with whether one event may match both.
    """

    number: int
    entity: Entity
    after: int
    is_apart: bool = False
    blockers: tuple[tuple[int, bool], ...] = ()


def check_optional(steps: Sequence[Entity], order: StepOrder) -> None:
    """Raise Invalid if an optional step is the first, or could never be done, or order matters not.

    Source: insights.md, section 5.
    """
    for number, step in enumerate(steps):
        if step.optional_at is None:
            continue
        if number == 0:
            detail = "The first step of a funnel cannot be optional."
            raise Invalid(detail, attr=step.optional_at)
        if order != "ordered":
            detail = 'Optional steps are only for funnels with the order "ordered".'
            raise Invalid(detail, attr=step.optional_at)
        for other, later in enumerate(steps[number + 1 :], number + 2):
            if contains(later, step):
                detail = f"Step {other} is the same as this optional step, or contains it."
                raise Invalid(detail, attr=step.optional_at)
            if later.optional_at is None:
                break


def optional_steps(steps: Sequence[Entity]) -> tuple[OptionalStep, ...]:
    """Return the optional ones of all steps."""
    required = [step for step in steps if step.optional_at is None]
    result, after = list[OptionalStep](), -1
    for number, step in enumerate(steps):
        if step.optional_at is None:
            after += 1
            continue
        is_apart = any(can_share(step, other) for other in required)
        result.append(OptionalStep(number, step, after, is_apart))
    return tuple(replace(one, blockers=_blockers(result, one)) for one in result)


def _blockers(optional: Sequence[OptionalStep], one: OptionalStep) -> tuple[tuple[int, bool], ...]:
    return tuple(
        (place, can_share(one.entity, other.entity))
        for place, other in enumerate(optional)
        if other.after == one.after and other.number > one.number
    )


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
        for name, number in (("funnel_from_step", span[0]), ("funnel_to_step", span[1])):
            if steps[number].optional_at is not None:
                detail = "An exclusion must start and end at steps that are not optional."
                raise fields.error(name, detail)
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
