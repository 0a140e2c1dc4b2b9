"""The question of a life cycle: who is new, comes back, or stays away.

Source: insights.md, section 8.
"""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from fanion.insights.dates.intervals import DateRange, Interval, parse_interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.parsing.entity_options import refuse_math
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.scope import parse_entities, parse_scope
from fanion.insights.query import Breakdowns, Entity, Scope
from fanion.rest.posthog_insight_fields import DISPLAYS_OF_SERIES, DISPLAYS_OF_TOTALS, OF_KINDS

Status = Literal["new", "returning", "resurrecting", "dormant"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)


@dataclass(frozen=True, slots=True)
class LifecycleQuery:
    scope: Scope
    entity: Entity
    interval: Interval = "day"

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (self.entity,)

    @property
    def breakdowns(self) -> Breakdowns | None:
        return None

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.whole_span(self.interval, clock)


def read_lifecycle(fields: Fields) -> LifecycleQuery:
    fields.choice("insight", ("LIFECYCLE", "lifecycle", "TRENDS", "trends"), "LIFECYCLE")
    fields.choice("shown_as", ("Lifecycle",), "Lifecycle")
    # Only affects drawing.
    fields.choice("display", DISPLAYS_OF_SERIES | DISPLAYS_OF_TOTALS, "ActionsBar")
    query = LifecycleQuery(
        scope=parse_scope(fields),
        entity=_entity(fields),
        interval=parse_interval(fields.raw("interval"), fields.place("interval")),
    )
    fields.refuse_unread("Life cycles", OF_KINDS)
    return query


def _entity(fields: Fields) -> Entity:
    entities = parse_entities(fields)
    if len(entities) != 1:
        raise fields.error("events", "A life cycle needs exactly one event.")
    [(entity, options)] = entities
    refuse_math(options, "Life cycles")
    return entity
