"""The question of paths: which steps follow one another.

Source: insights.md, section 9.
"""

from dataclasses import dataclass
from typing import Final

from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.path_cleaning import Cleaning, read_cleaning
from fanion.insights.parsing.scope import parse_scope
from fanion.insights.query import Breakdowns, Entity, Scope
from fanion.rest.posthog_insight_fields import DISPLAYS, OF_KINDS

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
_OWN: Final = frozenset(
    {
        *("path_type", "paths_hogql_expression", "include_event_types", "start_point"),
        *("include_custom_events", "end_point", "path_groupings", "funnel_paths"),
        *("funnel_filter", "exclude_events", "step_limit", "path_replacements"),
        *("local_path_cleaning_filters", "edge_limit", "min_edge_weight", "max_edge_weight"),
    }
)


@dataclass(frozen=True, slots=True)
class PathsQuery:
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

    scope: Scope
    event_types: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    start: str | None = None
    end: str | None = None
    groupings: tuple[str, ...] = ()
    replacements: bool = False
    cleaning: tuple[Cleaning, ...] = ()
    step_limit: int = STEPS
    edge_limit: int = EDGES
    weight_min: int | None = None
    weight_max: int | None = None

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (_ANYTHING,)

    @property
    def breakdowns(self) -> Breakdowns | None:
        return None

    @property
    def interval(self) -> Interval:
        return "day"

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.span("day", clock)


def read_paths(fields: Fields) -> PathsQuery:
    fields.choice("insight", ("PATHS", "paths"), "PATHS")
    fields.choice("display", DISPLAYS, "PathsViz")  # only affects drawing
    query = PathsQuery(
        scope=parse_scope(fields),
        event_types=_event_types(fields),
        events=_names(fields, "include_custom_events"),
        excluded=_names(fields, "exclude_events"),
        start=_point(fields, "start_point"),
        end=_point(fields, "end_point"),
        groupings=_names(fields, "path_groupings"),
        replacements=fields.boolean("path_replacements"),
        cleaning=read_cleaning(fields, "local_path_cleaning_filters"),
        step_limit=fields.whole("step_limit", 1, STEPS_MAX) or STEPS,
        edge_limit=fields.whole("edge_limit", 1, EDGES_MAX) or EDGES,
        weight_min=fields.whole("min_edge_weight", 0, WEIGHT_MAX),
        weight_max=fields.whole("max_edge_weight", 0, WEIGHT_MAX),
    )
    fields.refuse_unread("Paths", OF_KINDS - _OWN)
    return query


def without_slash(name: str) -> str:
    """Return the name without a slash at its end; `/` alone stays."""
    return name[:-1] if len(name) > 1 and name.endswith("/") else name


def _event_types(fields: Fields) -> tuple[str, ...]:
    name = "include_event_types"
    event_types = fields.texts(name, NAMES_MAX)
    for event_type in event_types:
        if event_type == "hogql":
            raise fields.error(name, "Paths with event types of hogql are not supported.")
        if event_type not in EVENT_TYPES:
            known = ", ".join(EVENT_TYPES)
            raise fields.error(name, f"Use event types out of: {known}.")
    return tuple(dict.fromkeys(event_types))


def _names(fields: Fields, name: str) -> tuple[str, ...]:
    texts = fields.texts(name, NAMES_MAX)
    if any(len(text) > NAME_CHARS_MAX for text in texts):
        detail = f"Ensure that each has no more than {NAME_CHARS_MAX} characters."
        raise fields.error(name, detail)
    return tuple(dict.fromkeys(texts))


def _point(fields: Fields, name: str) -> str | None:
    point = fields.text(name)
    if point is not None and len(point) > NAME_CHARS_MAX:
        detail = f"Ensure this field has no more than {NAME_CHARS_MAX} characters."
        raise fields.error(name, detail)
    return None if point is None else without_slash(point)
