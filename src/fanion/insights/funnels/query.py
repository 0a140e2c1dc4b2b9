"""The questions of funnels: how many persons go how far through some steps, and why.

Source: insights.md, section 5.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from fanion.insights.breakdowns import Breakdowns, read_breakdowns
from fanion.insights.dates.bounds import Bound
from fanion.insights.dates.intervals import INTERVALS, DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity, SqlText, events
from fanion.insights.funnels.parts import (
    EXCLUSIONS_MAX,
    STEPS_MAX,
    Exclusion,
    OptionalStep,
    Step,
    StepOrder,
    Window,
    check_optional,
    optional_steps,
    read_exclusions,
)
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import (
    DISTANCE,
    read_question,
    switch,
    text,
    texts,
    whole,
    word,
)
from fanion.insights.query import Scope
from fanion.rest.options import Before, Option, Options, items, part, read

Visualization = Literal["steps", "trends", "time_to_convert"]
Attribution = Literal["first_touch", "last_touch", "step", "all_events"]
CorrelationType = Literal["events", "properties", "event_with_properties"]

BINS_MAX: Final = 1_000  # that a question may ask for; the answer has fewer
NAMES_MAX: Final = 100

# Expressions that mean persons, as clients send them.
_PERSONS: Final = ("person_id", "person.id")
_STEP: Final = whole(0, STEPS_MAX - 1).schema
_STEPS: Final = events(Step, STEPS_MAX)


def _steps(fields: Fields, name: str, before: Before) -> tuple[Entity, ...]:
    steps: Sequence[Step] = _STEPS.read(fields, name, before)
    return tuple(step.entity for step in steps)


def _visualization(fields: Fields, name: str, before: Before) -> str | None:
    """Return the visualization, which the oldest clients ask for by `display`."""
    default = "trends" if before["display"] == "ActionsLineGraph" else None
    return fields.choice(name, get_args(Visualization), "") or default


def _order(fields: Fields, name: str, before: Before) -> str | None:
    order = fields.choice(name, get_args(StepOrder), "")
    check_optional(before["steps"], order or "ordered")
    return order or None


def _step(fields: Fields, name: str, before: Before, least: int, most: int) -> int | None:
    """Read the place of a step, from 0, which cannot be an optional one."""
    number = fields.whole(name, least, most)
    steps = before["steps"]
    if number is not None and number < len(steps) and steps[number].optional_at is not None:
        detail = f"Step {number + 1} is optional. Choose a step that is not."
        raise fields.error(name, detail)
    return number


def _last(steps: Sequence[Entity]) -> int:
    """Return the place of the last step that is not optional, -1 without steps."""
    required = (number for number, step in enumerate(steps) if step.optional_at is None)
    return max(required, default=-1)


def _attribution_step(fields: Fields, name: str, before: Before) -> int | None:
    number = _step(fields, name, before, 0, max(len(before["steps"]) - 1, 0))
    if before["attribution"] == "step" and number is None:
        raise fields.required(name)
    return number


def _from_step(fields: Fields, name: str, before: Before) -> int | None:
    last = _last(before["steps"])
    if before["visualization"] == "time_to_convert" and last == 0:
        raise fields.error("events", "Time to convert needs at least two steps.")
    return _step(fields, name, before, 0, max(last, 0))


def _to_step(fields: Fields, name: str, before: Before) -> int:
    """Return the last measured step, by default that of the whole funnel."""
    last = _last(before["steps"])
    number = _step(fields, name, before, 0 if last < 1 else 1, max(last, 1))
    if last < 1:
        return 0
    end = last if number is None else number
    if before["from_step"] >= end and before["visualization"] != "steps":
        raise fields.error("funnel_from_step", "funnel_from_step must be before funnel_to_step.")
    return end


def _breakdowns(fields: Fields, _: str, before: Before) -> Breakdowns | None:
    breakdowns = read_breakdowns(fields)
    if breakdowns is None:
        return None
    name = "breakdowns" if fields.raw("breakdowns") else "breakdown"
    if len({part.type for part in breakdowns.parts}) > 1:
        detail = "All properties of a breakdown of a funnel must be of the same type."
        raise fields.error(name, detail)
    counts_persons = before["scope"].group_type_index is None and before["counted_by"] is None
    if not counts_persons and breakdowns.parts[0].type in ("person", "cohort"):
        whose = "Groups" if before["counted_by"] is None else "Values of funnelAggregateByHogQL"
        detail = f"{whose} have no value of this breakdown. Leave it out."
        raise fields.error("breakdown_type", detail)
    if any(part.bins is not None for part in breakdowns.parts):
        detail = "Funnels with breakdown_histogram_bin_count are not supported. Leave it out."
        raise fields.error("breakdown_histogram_bin_count", detail)
    return breakdowns


def _counted_by(fields: Fields, name: str, before: Before) -> SqlText | None:
    sent = fields.text(name)
    if sent in (None, *_PERSONS):
        return None
    if before["scope"].group_type_index is not None:
        detail = "Either groups or values of an expression are counted. Leave one out."
        raise fields.error(name, detail)
    return SqlText("value", sent or "", fields.place(name))


def _any(fields: Fields, name: str, _: Before) -> object:
    return fields.raw(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunnelsQuery(Options):
    """The question of a funnel.

    Attributes:
        from_step: Where the part begins that trends and time to convert measure, from 0.
        to_step: Where that part ends, from 0.
        attribution: Which event gives a person its value of the breakdown.
        attribution_step: The step for attribution by `step`, from 0.
        bin_count: None to choose it by the number of persons.
        optional: The optional steps, once `of_required` has taken them from the steps.
    """

    # A correlation has the options of its funnel and another `insight`.
    insight: ClassVar[Annotated[str, replace(word(["FUNNELS"]), read=_any)]]
    shown_as: ClassVar[Annotated[str, word(["Volume"])]]
    steps: Annotated[tuple[Entity, ...], replace(_STEPS, read=_steps), "The steps."]
    order: Annotated[
        StepOrder, replace(word(get_args(StepOrder), "funnel_order_type"), read=_order)
    ] = "ordered"
    display: ClassVar[Annotated[str, word(["FunnelViz", "ActionsLineGraph"])]]
    visualization: Annotated[
        Visualization,
        replace(word(get_args(Visualization), "funnel_viz_type"), read=_visualization),
    ] = "steps"
    attribution: Annotated[
        Attribution, word(get_args(Attribution), "breakdown_attribution_type")
    ] = "first_touch"
    attribution_step: Annotated[
        int, Option(_attribution_step, _STEP, "breakdown_attribution_value")
    ] = 0
    from_step: Annotated[int, Option(_from_step, _STEP, "funnel_from_step")] = 0
    to_step: Annotated[int, Option(_to_step, _STEP, "funnel_to_step")] = 0
    scope: Scope
    counted_by: Annotated[
        SqlText | None,
        Option(_counted_by, text().schema, "funnel_aggregate_by_hogql"),
        "Counts values of an expression in SQL, such as `properties.$session_id`.",
    ] = None
    window: Window
    exclusions: Annotated[
        tuple[Exclusion, ...],
        replace(items(Exclusion, EXCLUSIONS_MAX), read=read_exclusions),
        "Events between two steps that take a person out of the funnel.",
    ] = ()
    breakdowns: Annotated[Breakdowns | None, replace(part(Breakdowns), read=_breakdowns)] = None
    bin_count: Annotated[int | None, whole(0, BINS_MAX, or_default=True)] = None
    interval: Annotated[Interval, word(INTERVALS)] = "day"
    compare_to: Annotated[
        Bound | None, DISTANCE, "Compares with a range that is this much earlier: `-1w`."
    ] = None
    compare: Annotated[bool, switch(), "Compares with the previous range."] = False
    optional: tuple[OptionalStep, ...] = ()

    def completed(self, fields: Fields) -> Self:
        compare = self.compare or self.compare_to is not None
        scope = replace(self.scope, counted_by=self.counted_by)
        return replace(self, scope=scope, compare=compare)

    @property
    def entities(self) -> tuple[Entity, ...]:
        exclusions = (exclusion.entity for exclusion in self.exclusions)
        return (*self.steps, *exclusions, *(step.entity for step in self.optional))

    @property
    def required_steps(self) -> tuple[Entity, ...]:
        """Return the steps over which persons convert."""
        return tuple(step for step in self.steps if step.optional_at is None)

    def of_required(self) -> Self:
        """Return the question with only required steps as steps, and the others as `optional`."""
        optional = optional_steps(self.steps)
        if not optional:
            return self
        return replace(
            self,
            steps=self.required_steps,
            optional=optional,
            attribution_step=self.required_place(self.attribution_step),
            from_step=self.required_place(self.from_step),
            to_step=self.required_place(self.to_step),
            exclusions=tuple(
                replace(
                    one,
                    from_step=self.required_place(one.from_step),
                    to_step=self.required_place(one.to_step),
                )
                for one in self.exclusions
            ),
        )

    def required_place(self, number: int) -> int:
        """Return the place of a step among the required ones."""
        return sum(step.optional_at is None for step in self.steps[:number])

    def span(self, clock: RangeClock) -> DateRange:
        """Return the range of the question, in whole intervals for trends."""
        if self.visualization == "trends":
            return self.scope.whole_span(self.interval, clock)
        return self.scope.span("day", clock)


def _correlated_funnel(fields: Fields, *_: object) -> FunnelsQuery:
    funnel = read(FunnelsQuery, fields)
    if funnel.breakdowns is not None:
        name = "breakdowns" if fields.raw("breakdowns") else "breakdown"
        detail = "A correlation cannot have a breakdown. Leave it out."
        raise fields.error(name, detail)
    if funnel.counted_by is not None:
        detail = "A correlation is one of persons or groups. Leave it out."
        raise fields.error("funnel_aggregate_by_hogql", detail)
    if funnel.compare:
        name = "compare_to" if fields.raw("compare_to") else "compare"
        raise fields.error(name, "A correlation does not compare ranges. Leave it out.")
    if len(funnel.required_steps) < 2:
        raise fields.error("events", "A correlation needs at least two steps.")
    return replace(funnel, visualization="steps")


def _names(name: str) -> Option:
    return texts(NAMES_MAX, name=f"funnel_correlation_{name}")


@dataclass(frozen=True, slots=True)
class FunnelCorrelationQuery(Options):
    """The question of what correlates with reaching the last step of a funnel.

    Attributes:
        funnel: The funnel, whose own scope is not read.
        names: Properties of the person; empty for all.
        event_names: The events whose properties are compared.

    Source: insights.md, section 5i.
    """

    funnel: Annotated[FunnelsQuery, replace(part(FunnelsQuery), read=_correlated_funnel)]
    scope: Annotated[Scope, Option(lambda *sent: sent[-1]["funnel"].scope, None)]
    type: Annotated[CorrelationType, word(get_args(CorrelationType), "funnel_correlation_type")] = (
        "events"
    )
    names: Annotated[tuple[str, ...], _names("names")] = ()
    exclude_names: Annotated[tuple[str, ...], _names("exclude_names")] = ()
    event_names: Annotated[tuple[str, ...], _names("event_names")] = ()
    exclude_event_names: Annotated[tuple[str, ...], _names("exclude_event_names")] = ()
    exclude_property_names: Annotated[tuple[str, ...], _names("event_exclude_property_names")] = ()

    def completed(self, fields: Fields) -> Self:
        if self.type == "properties" and not self.names:
            raise fields.required("funnel_correlation_names")
        if self.type == "event_with_properties" and not self.event_names:
            raise fields.required("funnel_correlation_event_names")
        if self.type == "properties" and self.scope.group_type_index is not None:
            detail = (
                "Only properties of persons can be correlated. "
                "Leave aggregation_group_type_index out."
            )
            raise fields.error("aggregation_group_type_index", detail)
        return replace(self, names=()) if "$all" in self.names else self

    @property
    def entities(self) -> tuple[Entity, ...]:
        return self.funnel.entities

    @property
    def breakdowns(self) -> None:
        return None

    @property
    def interval(self) -> Interval:
        return "day"

    def span(self, clock: RangeClock) -> DateRange:
        return self.funnel.span(clock)


def read_funnels(fields: Fields) -> FunnelsQuery:
    return read_question(FunnelsQuery, fields, "Funnels")


def read_correlation(fields: Fields) -> FunnelCorrelationQuery:
    """Read the question of a correlation.

    Raises:
        Invalid: An option cannot be read.

    Source: insights.md, section 5i.
    """
    return read_question(FunnelCorrelationQuery, fields, "Correlations")
