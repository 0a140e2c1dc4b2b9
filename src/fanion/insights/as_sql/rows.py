"""The parts that the SELECTs of all kinds share: which events, when, whose, and by which value."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fanion.insights.as_sql.conditions import condition, entity_conditions, owner_of
from fanion.insights.as_sql.refusals import no_sql_for, require_known
from fanion.insights.as_sql.texts import all_of, local_text, property_of, quoted, within
from fanion.insights.breakdowns import Breakdowns
from fanion.insights.dates.intervals import DateRange, Interval
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.entities import Entity
from fanion.insights.query import Scope
from fanion.insights.sessions.fields import FIELDS

_STARTS: Final[dict[Interval, str]] = {
    "minute": "toStartOfMinute({})",
    "hour": "toStartOfHour({})",
    "day": "toDate({})",
    "month": "toStartOfMonth({})",
    "quarter": "toStartOfQuarter({})",
    "year": "toStartOfYear({})",
}


@dataclass(frozen=True, slots=True)
class EventRows:
    """The events that a question is about, whose times and conditions are written here."""

    scope: Scope
    clock: RangeClock

    def __post_init__(self) -> None:
        require_known(
            self.scope,
            *("since", "until", "is_explicit", "properties", "filter_test_accounts"),
            *("group_type_index", "counted_by"),
        )

    @property
    def who(self) -> str:
        """Return SQL for who is counted."""
        if self.scope.counted_by is not None:
            return f"ifNull(toString({within(self.scope.counted_by.text)}), '')"
        index = self.scope.group_type_index
        return "person_id" if index is None else f"$group_{index}"

    @property
    def counted(self) -> str:
        """Return the name of the column that says who is counted."""
        if self.scope.counted_by is not None:
            return "counted"
        return "person_id" if self.scope.group_type_index is None else "group_key"

    @property
    def who_column(self) -> str:
        return self.who if self.who == self.counted else f"{self.who} AS {self.counted}"

    def start(self, interval: Interval, time: str = "timestamp") -> str:
        """Return SQL for the start of the interval of a time."""
        if interval == "week":
            return f"toStartOfWeek({time}, {self.clock.week_start_day})"
        return _STARTS[interval].format(time)

    def moment(self, moment: datetime) -> str:
        """Return a time for comparisons with what is not `timestamp` itself."""
        text, zone = local_text(moment, self.clock.zone), self.clock.zone.key
        return f"parseDateTime64BestEffort({quoted(text)}, 6, {quoted(zone)})"

    def since(self, moment: datetime) -> str:
        return f"timestamp >= {quoted(local_text(moment, self.clock.zone))}"

    def until(self, moment: datetime) -> str:
        return f"timestamp < {quoted(local_text(moment, self.clock.zone))}"

    def within(self, span: DateRange) -> list[str]:
        return [self.since(span.start), self.until(span.end)]

    def of_scope(self) -> list[str]:
        """Return the conditions on every event of the question."""
        conditions = [condition(self.scope.properties)] if self.scope.properties else []
        return conditions if self.scope.counts_persons else [*conditions, f"{self.who} != ''"]

    def any_of(self, entities: Sequence[Entity]) -> list[str]:
        """Return the condition for an event to be one of some entities, empty if any is."""
        each = [entity_conditions(entity) for entity in entities]
        if not all(each):
            return []
        texts = list(dict.fromkeys(map(all_of, each)))
        return [f"({' OR '.join(f'({text})' for text in texts)})" if len(texts) > 1 else texts[0]]


def is_entity(entity: Entity) -> str:
    """Return SQL for whether an event is one of an entity."""
    return all_of(entity_conditions(entity)) or "true"


def values_of(breakdowns: Breakdowns | None) -> dict[str, str]:
    """Return the columns of a breakdown with their expressions, null without a value.

    Raises:
        Invalid: A part of it cannot be said in SQL.
    """
    if breakdowns is None:
        return {}
    # All values are rows, so how many an answer shows does not matter.
    require_known(breakdowns, "parts", "limit", "hide_other")
    columns = {}
    for number, part in enumerate(breakdowns.parts, 1):
        require_known(part, "type", "key", "group_type_index")
        if part.type == "hogql":
            text = f"toString({within(part.key)})"
        elif part.type == "session" and FIELDS[part.key] == "text":
            text = f"session.{part.key}"
        elif part.type in ("event", "person", "group"):
            text = property_of(owner_of(part.type, part.group_type_index), part.key)
        else:
            raise no_sql_for(f"a breakdown by {part.key} of type {part.type}")
        name = "breakdown" if len(breakdowns.parts) == 1 else f"breakdown_{number}"
        columns[name] = f"nullIf({text}, '')"
    return columns


def named(columns: dict[str, str]) -> list[str]:
    return [f"{text} AS {name}" for name, text in columns.items()]
