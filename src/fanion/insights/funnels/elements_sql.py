"""The events of each actor that matter to a funnel, as one sorted array of elements.

An element is `(at, id, mask)`: microseconds since the start of the range plus one, so that 0 is
never a time; the uuid as a number; and one bit for each step and each exclusion that the event
matches.

In an ordered funnel an element is `(tick, id)` instead, one for each step or exclusion that the
event matches. A tick is `at` times TICKS plus a rank, which orders the steps of one instant.
Exclusions count strictly between two steps and rank before all steps. If no event can match two of
the steps, a step ranks after the previous one, which it may follow at the same instant. Otherwise
it ranks before the previous one, so that no event is used twice.

If the value of the breakdown is the event's, it is the last part of an element. Events are read
until the windows of all tries that begin in the range are over.

Source: insights.md, sections 5 and 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.funnels.first_time_sql import is_event_of
from fanion.insights.funnels.parts import Window
from fanion.insights.funnels.query import FunnelsQuery
from fanion.insights.funnels.steps import are_disjoint
from fanion.insights.funnels.values_sql import event_value
from fanion.insights.sql.breakdown import ACTOR_BREAKDOWNS, with_other_values
from fanion.insights.sql.compiler import Compiler, SqlContext
from fanion.properties.bindings import micros

# A power of two, larger than the number of steps and exclusions together.
TICKS: Final = 64
# The event store holds nothing later.
_LAST: Final = datetime(2299, 12, 31, tzinfo=UTC)

_ROWS = """
  SELECT {who} AS who,
         {code} AS code,
         toUInt128(uuid) AS id{columns}
    FROM events
   WHERE {where}
"""

# Groups before the person is resolved, so that the join reads actors, not events.
_GROUPED = """
  SELECT who{key}, groupArray(code) AS codes, groupArray(id) AS ids{arrays}
    FROM ({rows})
   WHERE {wanted}
GROUP BY who{key}
"""

_MERGED = """
  SELECT actor{key},
         arrayCompact(arraySort(arrayZip({zipped}))) AS elements
    FROM ({resolved})
GROUP BY actor{key}
  HAVING {entered}
"""


@dataclass(frozen=True, slots=True)
class FunnelSql:
    """The inputs to the statements of a funnel.

    Attributes:
        shown: The values of the breakdown with their own entries, while all others are OTHER;
            None for all values.
    """

    context: SqlContext
    query: FunnelsQuery
    span: DateRange
    shown: Sequence[str] | None = None

    @property
    def reach(self) -> DateRange:
        """Return the range to read: it includes the windows of those who enter last."""
        return DateRange(self.span.start, end_of_window(self.span.end, self.query.window))

    @property
    def last(self) -> int:
        """Return the last instant at which a try can begin, on the scale of `at`."""
        return micros(self.span.end) - micros(self.span.start)

    @property
    def by_event_value(self) -> bool:
        """Return whether the value of the breakdown is the event's, not the actor's."""
        breakdowns = self.query.breakdowns
        return breakdowns is not None and breakdowns.parts[0].type not in ACTOR_BREAKDOWNS

    @property
    def one_value_a_funnel(self) -> bool:
        return self.by_event_value and self.query.attribution == "all_events"

    @property
    def valued(self) -> bool:
        """Return whether elements have the value of their event."""
        return self.by_event_value and not self.one_value_a_funnel

    @property
    def of_ticks(self) -> bool:
        """Return whether elements are plain ticks, as in `ticks_sql`."""
        keeps_values = self.one_value_a_funnel or self.valued_tries
        is_ordered = self.query.order == "ordered" and not keeps_values
        return is_ordered and are_disjoint(self.query.entities)

    @property
    def valued_tries(self) -> bool:
        """Return whether tries have the value of the event of one step."""
        query = self.query
        return self.valued and query.attribution == "step" and query.order != "unordered"

    @property
    def valued_steps(self) -> bool:
        """Return whether an actor has every value that its events have."""
        query = self.query
        return self.valued and query.attribution == "step" and query.order == "unordered"

    @property
    def one_value_an_actor(self) -> bool:
        breakdowns = self.query.breakdowns
        many = self.one_value_a_funnel or self.valued_steps
        return breakdowns is not None and breakdowns.parts[0].type != "cohort" and not many


def end_of_window(start: datetime, window: Window) -> datetime:
    """Return when the window of a try ends that begins at a time."""
    return min(window.after(start), max(start, _LAST))


def ranks_of(query: FunnelsQuery) -> list[int]:
    """Return the ranks within one instant of `query.entities`, from 1.

    Exclusions rank first. Optional steps rank before all other steps if they must come at another
    moment, and after them if they may come at the same one.
    """
    count, earlier = len(query.steps), ranks_before_steps(query)
    own = range(1, count + 1) if are_disjoint(query.steps) else range(count, 0, -1)
    before = iter(range(len(query.exclusions) + 1, TICKS))
    after = iter(range(earlier + count + 1, TICKS))
    return [
        *(earlier + rank for rank in own),
        *range(1, len(query.exclusions) + 1),
        *(next(before if one.is_apart else after) for one in query.optional),
    ]


def ranks_before_steps(query: FunnelsQuery) -> int:
    """Return how many exclusions and optional steps rank before the required steps."""
    return len(query.exclusions) + sum(one.is_apart for one in query.optional)


def elements(compiler: Compiler, funnel: FunnelSql) -> str:
    """Return rows (actor, elements), with `value` if each value has its own funnel."""
    query = funnel.query
    key = ", value" if funnel.one_value_a_funnel else ""
    rows = _ROWS.format(
        who=compiler.who(),
        code=_code(compiler, funnel),
        columns=_columns(compiler, funnel),
        where=compiler.where(funnel.reach, None if query.order == "strict" else query.entities),
    )
    grouped = _GROUPED.format(
        key=key,
        arrays=_arrays(funnel),
        rows=rows,
        wanted="1" if query.order == "strict" else "code != 0",
    )
    names = ["codes", "ids", *_further(funnel)]
    resolved = compiler.resolved(grouped, [*names, *(["value"] if key else [])])
    zipped = ", ".join(f"groupArrayArray({name})" for name in names)
    return _MERGED.format(key=key, zipped=zipped, resolved=resolved, entered=_entered(funnel))


def _further(funnel: FunnelSql) -> list[str]:
    masks = [] if funnel.query.order == "ordered" else ["masks"]
    return [*masks, *(["texts"] if funnel.valued else [])]


def _columns(compiler: Compiler, funnel: FunnelSql) -> str:
    columns = ""
    if funnel.query.order != "ordered":
        columns += f",\n         {_mask(compiler, funnel)} AS mask"
    if funnel.one_value_a_funnel:
        own = event_value(compiler, funnel.query)
        columns += f",\n         {with_other_values(compiler, own, funnel.shown)} AS value"
    elif funnel.valued:
        columns += f",\n         {event_value(compiler, funnel.query)} AS text"
    return columns


def _arrays(funnel: FunnelSql) -> str:
    return "".join(f", groupArray({name[:-1]}) AS {name}" for name in _further(funnel))


def _code(compiler: Compiler, funnel: FunnelSql) -> str:
    """Return SQL for the time or tick of an event, 0 if it matches no step and no exclusion."""
    start = compiler.bindings.add(micros(funnel.span.start), "Int64")
    at = f"toUInt64(toUnixTimestamp64Micro(timestamp) - {start} + 1)"
    if funnel.query.order == "strict":
        return at
    if funnel.query.order == "unordered":
        return f"if({_mask(compiler, funnel)} = 0, 0, {at})"
    query = funnel.query
    own = ranks_of(query)
    entities = query.entities
    if are_disjoint(entities):
        parts = (
            f"{is_event_of(compiler, funnel.reach, entity)}, {r}"
            for entity, r in zip(entities, own, strict=True)
        )
        rank = f"toUInt64(multiIf({', '.join(parts)}, 0))" if entities else "0"
        return f"if({rank} = 0, 0, {at} * {TICKS} + {rank})"
    parts = (
        f"if({is_event_of(compiler, funnel.reach, entity)}, {r}, 0)"
        for entity, r in zip(entities, own, strict=True)
    )
    matching_ranks = f"arrayFilter(rank -> rank != 0, [{', '.join(parts)}])"
    return f"{at} * {TICKS} + toUInt64(arrayJoin({matching_ranks}))"


def _mask(compiler: Compiler, funnel: FunnelSql) -> str:
    parts = (
        f"if({is_event_of(compiler, funnel.reach, entity)}, toUInt64({1 << number}), 0)"
        for number, entity in enumerate(funnel.query.entities)
    )
    return f"({' + '.join(parts)})"


def _entered(funnel: FunnelSql) -> str:
    """Return the condition that some event in the range can be the first step."""
    query = funnel.query
    if query.order == "ordered":
        rank = ranks_of(query)[0]
        is_first = f"bitAnd(one, {TICKS - 1}) = {rank} AND one < {(funnel.last + 1) * TICKS}"
        return f"arrayExists(one -> {is_first}, groupArrayArray(codes))"
    bits = 1 if query.order == "strict" else steps_mask(query)
    is_first = f"bitAnd(one, {bits}) != 0 AND at <= {funnel.last}"
    columns = "groupArrayArray(masks), groupArrayArray(codes)"
    return f"arrayExists((one, at) -> {is_first}, {columns})"


def steps_mask(query: FunnelsQuery) -> int:
    return (1 << len(query.steps)) - 1
