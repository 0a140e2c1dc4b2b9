"""The tries of an ordered funnel in which no event can match two of the steps and exclusions.

An element is just a tick, because events at the same instant need not be told apart. If the
breakdown is by events, the same pass also finds the first or last value of each actor, ordered by
time, then by uuid.

Source: insights.md, section 5a.
"""

from typing import Final

from fanion.insights.funnels.elements_sql import TICKS, FunnelSql, ranks_of
from fanion.insights.funnels.first_time_sql import is_event_of
from fanion.insights.funnels.ordered_sql import OrderedTries
from fanion.insights.funnels.values_sql import event_value, no_value
from fanion.insights.sql.compiler import Compiler
from fanion.properties.bindings import micros

# Groups before persons are resolved, so that the join reads one row per actor, not per event.
_GROUPED = """
  WITH {named}
  SELECT {who} AS who, groupArray({tick}) AS ticks{touch}
    FROM {events}
   WHERE {where}
     AND rank != 0
GROUP BY who
"""
_MERGED = """
  SELECT actor, {ticks} AS elements{value}
    FROM ({resolved})
GROUP BY actor
  HAVING arrayExists(one -> bitAnd(one, {bits}) = {first} AND one < {last}, elements)
"""
# A single number compares quickly.
_PLACE: Final = "bitShiftLeft(toUInt256(at), 128) + toUInt256(toUInt128(uuid))"


def ticks_of_actors(compiler: Compiler, funnel: FunnelSql) -> str:
    """Return rows (actor, elements), plus `value` ('' for none) if the breakdown is by events."""
    query, once = funnel.query, compiler.once
    ranks, reach = ranks_of(query), funnel.reach
    pairs = zip(query.entities, ranks, strict=True)
    cases = ", ".join(f"{is_event_of(compiler, reach, entity)}, {rank}" for entity, rank in pairs)
    start = compiler.bindings.add(micros(funnel.span.start) - 1, "Int64")
    named = [f"multiIf({cases}, 0) AS rank", f"toUnixTimestamp64Micro(timestamp) - {start} AS at"]
    tick, ticks = f"toUInt64(at) * {TICKS} + rank", "arraySort(groupArrayArray(ticks))"
    if not once.by_key:
        tick = f"({tick}, toUInt128(uuid))"
        ticks = f"arrayMap(one -> one.1, arrayCompact({ticks}))"
    touch = value = ""
    if funnel.valued:
        touch, value = _touch(compiler, funnel)
        named.append(f"{event_value(compiler, query)} AS text")
    grouped = _GROUPED.format(
        named=",\n       ".join(named),
        who=compiler.who(),
        tick=tick,
        touch=touch,
        events=once.events,
        where=compiler.where(reach, query.entities),
    )
    return _MERGED.format(
        ticks=ticks,
        value=value,
        resolved=compiler.resolved(grouped, ["ticks", *(["touch"] if funnel.valued else [])]),
        bits=TICKS - 1,
        first=ranks[0],
        last=(funnel.last + 1) * TICKS,
    )


def _touch(compiler: Compiler, funnel: FunnelSql) -> tuple[str, str]:
    """Return the columns for a step's first or last value: per partial group, then per actor."""
    query = funnel.query
    assert query.breakdowns is not None
    function = "argMinIf" if query.attribution == "first_touch" else "argMaxIf"
    is_value = f"text != {compiler.bindings.text(no_value(query.breakdowns))}"
    if query.exclusions:
        is_value += f" AND rank > {len(query.exclusions)}"
    touch = f", {function}State(text, {_PLACE}, {is_value}) AS touch"
    return touch, f", {function}Merge(touch) AS value"


class TickTries(OrderedTries):
    """The tries over rows of `ticks_of_actors`."""

    tick = "one"

    def of_chains(self, chains: str) -> str:
        if self.query.exclusions or self.query.optional:
            return super().of_chains(chains)
        limit = self.limit("chain.1")
        later = range(2, self.size + 1)
        reached = [f"(chain.{step} != 0 AND chain.{step} <= {limit})" for step in later]
        times = [f"if(chain.{step} <= {limit}, chain.{step}, 0)" for step in later]
        parts = [f"toUInt8({' + '.join(['1', *reached])})", "chain.1", *times]
        return f"arrayMap(chain -> tuple({', '.join(parts)}), {chains})"
