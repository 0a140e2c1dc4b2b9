"""The question of a life cycle: who is new, comes back, or stays away.

Source: insights.md, section 8.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal, get_args

from fanion.insights.dates.intervals import INTERVALS, DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import ENTITIES_MAX, Entity, events, parse_entities, refuse_math
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.options import read_question, word
from fanion.insights.query import Scope
from fanion.rest.options import Before, Options
from fanion.rest.posthog_insight_fields import DISPLAYS_OF_SERIES, DISPLAYS_OF_TOTALS

Status = Literal["new", "returning", "resurrecting", "dormant"]
STATUSES: Final[tuple[Status, ...]] = get_args(Status)


def _entity(fields: Fields, name: str, _: Before) -> Entity:
    entities = parse_entities(fields, name, ENTITIES_MAX)
    if len(entities) != 1:
        raise fields.error(name, "A life cycle needs exactly one event.")
    [(entity, options)] = entities
    refuse_math(options, "Life cycles")
    return entity


@dataclass(frozen=True, slots=True)
class LifecycleQuery(Options):
    """The question of a life cycle."""

    insight: ClassVar[Annotated[str, word(["LIFECYCLE"], also=["lifecycle", "TRENDS", "trends"])]]
    shown_as: ClassVar[Annotated[str, word(["Lifecycle"])]]
    # Only affects drawing.
    display: ClassVar[Annotated[str, word(DISPLAYS_OF_SERIES | DISPLAYS_OF_TOTALS)]]
    scope: Scope
    entity: Annotated[Entity, replace(events(Entity, 1), read=_entity)]
    interval: Annotated[Interval, word(INTERVALS)] = "day"

    @property
    def entities(self) -> tuple[Entity, ...]:
        return (self.entity,)

    @property
    def breakdowns(self) -> None:
        return None

    def span(self, clock: RangeClock) -> DateRange:
        return self.scope.whole_span(self.interval, clock)


def read_lifecycle(fields: Fields) -> LifecycleQuery:
    return read_question(LifecycleQuery, fields, "Life cycles")
