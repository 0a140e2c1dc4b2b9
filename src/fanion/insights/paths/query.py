"""The question of paths: which steps follow one another.

Source: insights.md, section 9.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Self

from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import OFF, read_question, switch, text, texts, whole, word
from fanion.insights.parsing.path_cleaning import FILTERS_MAX, Cleaning
from fanion.insights.query import Scope
from fanion.rest.json_schema import listed, one_of
from fanion.rest.options import Before, Option, Options, items
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

_ANYTHING: Final = Entity(None)


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
    funnel_paths: ClassVar[Annotated[None, OFF]]
    funnel_filter: ClassVar[Annotated[None, OFF]]

    def completed(self, fields: Fields) -> Self:
        return replace(self, start=_without_slash(self.start), end=_without_slash(self.end))

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (_ANYTHING,)

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
