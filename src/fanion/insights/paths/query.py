"""The question of paths: which steps follow one another.

Source: insights.md, section 9.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.funnels.parts import STEPS_MAX as FUNNEL_STEPS_MAX
from fanion.insights.funnels.query import FunnelsQuery, read_funnels
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import OFF, read_question, switch, text, texts, whole, word
from fanion.insights.parsing.path_cleaning import FILTERS_MAX, Cleaning
from fanion.insights.query import Scope
from fanion.rest.json_schema import listed, one_of, reference
from fanion.rest.options import Before, Option, Options, items, part, read
from fanion.rest.posthog_insight_fields import DISPLAYS

STEPS: Final = 5
STEPS_MAX: Final = 20
EDGES: Final = 50
EDGES_MAX: Final = 1_000
WEIGHT_MAX: Final = 10**15
# Names or patterns in one list.
NAMES_MAX: Final = 100
NAME_CHARS_MAX: Final = 2_000
EVENT_TYPES: Final = ("$pageview", "$screen", "custom_event")

FunnelPathType = Literal[
    "funnel_path_before_step", "funnel_path_between_steps", "funnel_path_after_step"
]

_ANYTHING: Final = Entity(None)
# Two events of one path lie less than this apart.
_GAP_US: Final = 30 * 60 * 1_000_000
# Months of a funnel's window count from here.
_MONTHS_FROM: Final = datetime(2018, 1, 1, tzinfo=UTC)


def _names(name: str) -> Option:
    """Return the option of a list of names, which keeps each once."""
    option = texts(NAMES_MAX, NAME_CHARS_MAX, name)
    return replace(option, read=lambda *sent: tuple(dict.fromkeys(option.read(*sent))))


def _event_types(fields: Fields, name: str, _: Before) -> tuple[str, ...]:
    event_types = fields.texts(name, NAMES_MAX)
    for event_type in event_types:
        if event_type == "hogql":
            raise fields.error(name, "Paths with event types of hogql are not supported.")
        if event_type not in EVENT_TYPES:
            known = ", ".join(EVENT_TYPES)
            raise fields.error(name, f"Use event types out of: {known}.")
    return tuple(dict.fromkeys(event_types))


_EVENT_TYPES: Final = listed(one_of(EVENT_TYPES), maxItems=NAMES_MAX)


def _funnel(fields: Fields, name: str, _: Before) -> FunnelsQuery:
    inner = fields.inner(name)
    if inner is None:
        raise fields.required(name)
    inner.choice("insight", ("FUNNELS",), "FUNNELS")
    funnel = read_funnels(inner)
    if not funnel.steps:
        raise inner.error("events", "A funnel without steps has no persons. Name its steps.")
    if funnel.breakdowns is not None:
        of = "breakdowns" if inner.raw("breakdowns") else "breakdown"
        detail = "The funnel of paths cannot have a breakdown. Leave it out."
        raise inner.error(of, detail)
    if funnel.compare:
        of = "compare_to" if inner.raw("compare_to") else "compare"
        raise inner.error(of, "The funnel of paths does not compare ranges. Leave it out.")
    if funnel.counted_by is not None:
        detail = "Paths are those of persons or groups. Leave it out."
        raise inner.error("funnel_aggregate_by_hogql", detail)
    return replace(funnel, visualization="steps")


def _funnel_step(fields: Fields, name: str, before: Before) -> int:
    funnel: FunnelsQuery = before["funnel"]
    size = len(funnel.steps)
    step = fields.whole(name, -size, size)
    if step is None:
        raise fields.required(name)
    if step in (-1, 0):
        raise fields.error(name, "Ensure this value is 1 or greater, or -2 or less.")
    if funnel.steps[abs(step) - 1].optional_at is not None:
        raise fields.error(name, f"Step {abs(step)} is optional. Choose a step that is not.")
    if before["which"] == "funnel_path_between_steps" and step < 2:
        detail = "Between steps lies what comes before step 2 or a later one."
        raise fields.error(name, detail)
    return step


@dataclass(frozen=True, slots=True)
class WithinFunnel(Options):
    """The part of a funnel to which paths are limited.

    Attributes:
        which: Whether before a step, after it, or between it and the step before.
        step: The step that persons reached, from 1; -k for those who reached step k - 1 and did
            not reach step k, whose part begins or ends at the last step that they reached.
    """

    which: Annotated[FunnelPathType, word(get_args(FunnelPathType), "funnel_paths")]
    funnel: Annotated[FunnelsQuery, Option(_funnel, reference("FunnelsFilters"), "funnel_filter")]
    step: Annotated[
        int,
        replace(
            whole(-FUNNEL_STEPS_MAX, FUNNEL_STEPS_MAX, "funnel_step"),
            read=_funnel_step,
        ),
    ]

    @property
    def level(self) -> int:
        """Return how many required steps its persons reached: at least so many, or exactly."""
        place = self.funnel.required_place(abs(self.step) - 1)
        return place + 1 if self.step > 0 else place

    @property
    def gap_us(self) -> int:
        """Return the window of the funnel: a path is not cut within it."""
        length = self.funnel.window.after(_MONTHS_FROM) - _MONTHS_FROM
        return length // timedelta(microseconds=1)


def _within_funnel(fields: Fields, _: str, before: Before) -> WithinFunnel | None:
    sent = [fields.raw(name) for name in ("funnel_paths", "funnel_filter")]
    if not any(sent):
        return None
    within = read(WithinFunnel, fields)
    if within.funnel.scope.group_type_index != before["scope"].group_type_index:
        detail = (
            "Paths and their funnel must count the same persons or groups. "
            "Give both the same aggregation_group_type_index."
        )
        raise fields.error("funnel_filter", detail)
    return within


@dataclass(frozen=True, slots=True)
class PathsQuery(Options):
    """The question of paths.

    Attributes:
        event_types: `$pageview`, `$screen`, `custom_event`; if this and `events` are empty, all
            events.
        events: The names of events that are steps too.
        start: The name of the first step, without a slash at the end.
        end: The name of the last step, without a slash at the end.
        groupings: Patterns in which `*` is any text.
        replacements: Whether the project's cleaning rules come before those of the question.
        cleaning: The cleaning rules of the question.
        within: The part of a funnel to which paths are limited.
    """

    insight: ClassVar[Annotated[str, word(["PATHS"], also=["paths"])]]
    display: ClassVar[Annotated[str, word(DISPLAYS)]]  # only affects drawing
    scope: Scope
    event_types: Annotated[
        tuple[str, ...], Option(_event_types, _EVENT_TYPES, "include_event_types")
    ] = ()
    events: Annotated[tuple[str, ...], _names("include_custom_events")] = ()
    excluded: Annotated[tuple[str, ...], _names("exclude_events")] = ()
    start: Annotated[str | None, text(NAME_CHARS_MAX, "start_point")] = None
    end: Annotated[str | None, text(NAME_CHARS_MAX, "end_point")] = None
    groupings: Annotated[tuple[str, ...], _names("path_groupings")] = ()
    replacements: Annotated[bool, switch("path_replacements")] = False
    cleaning: Annotated[
        tuple[Cleaning, ...], items(Cleaning, FILTERS_MAX, "local_path_cleaning_filters")
    ] = ()
    step_limit: Annotated[int, whole(1, STEPS_MAX)] = STEPS
    edge_limit: Annotated[int, whole(1, EDGES_MAX)] = EDGES
    weight_min: Annotated[int | None, whole(0, WEIGHT_MAX, "min_edge_weight")] = None
    weight_max: Annotated[int | None, whole(0, WEIGHT_MAX, "max_edge_weight")] = None
    path_type: ClassVar[Annotated[None, OFF]]
    paths_hogql_expression: ClassVar[Annotated[None, OFF]]
    within: Annotated[
        WithinFunnel | None,
        replace(part(WithinFunnel), read=_within_funnel),
        "Only what persons did before, between or after steps of a funnel.",
    ] = None

    def completed(self, fields: Fields) -> Self:
        return replace(self, start=_without_slash(self.start), end=_without_slash(self.end))

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (_ANYTHING, *(self.within.funnel.entities if self.within else ()))

    @property
    def gap_us(self) -> int:
        """Return how far two events must lie apart to end one path and begin another."""
        return _GAP_US if self.within is None else self.within.gap_us

    @property
    def breakdowns(self) -> None:
        return None

    @property
    def interval(self) -> Interval:
        return "day"

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.span("day", clock)


def read_paths(fields: Fields) -> PathsQuery:
    return read_question(PathsQuery, fields, "Paths")


def _without_slash(name: str | None) -> str | None:
    """Return the name without a slash at its end; `/` alone stays."""
    return name[:-1] if name is not None and len(name) > 1 and name.endswith("/") else name
