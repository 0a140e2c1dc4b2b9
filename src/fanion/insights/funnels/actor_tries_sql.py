"""The tries of each actor, with its value of the breakdown.

Source: insights.md, sections 5 and 5g.
"""

from fanion.insights.funnels.elements_sql import TICKS, FunnelSql, elements, steps_mask
from fanion.insights.funnels.moments_sql import OverlappingTries
from fanion.insights.funnels.ordered_sql import OrderedTries
from fanion.insights.funnels.steps import are_disjoint
from fanion.insights.funnels.strict_sql import StrictTries
from fanion.insights.funnels.ticks_sql import TickTries, ticks_of_actors
from fanion.insights.funnels.tries_sql import Tries
from fanion.insights.funnels.unordered_sql import UnorderedTries
from fanion.insights.funnels.values_sql import no_value
from fanion.insights.sql.breakdown import ACTOR_BREAKDOWNS, BreakdownSql, with_other_values
from fanion.insights.sql.compiler import Compiler

_TRIES = """
  SELECT actor, {value} AS {name}, {tries} AS tries
    FROM ({elements}) AS found
{join}
"""
_SHOWN = """
  SELECT actor, {shown} AS own_value, tries
    FROM ({tries})
"""


def tries_of_actors(compiler: Compiler, funnel: FunnelSql) -> str:
    """Return rows (actor, value of the breakdown, tries), one for each value that an actor has."""
    tries = _tries(compiler, funnel)
    source = tries.source(
        ticks_of_actors(compiler, funnel) if funnel.of_ticks else elements(compiler, funnel)
    )
    value, join = _actor_value(compiler, funnel)
    parts = {"value": value, "tries": tries.tries(), "elements": source, "join": join}
    if funnel.valued_steps:
        shown = f"arrayJoin(arrayDistinct({_each_shown(compiler, funnel)}))"
    elif funnel.shown is None or funnel.one_value_a_funnel or funnel.valued_tries:
        return _TRIES.format(name="own_value", **parts)
    else:
        shown = with_other_values(compiler, "value", funnel.shown)
    return _SHOWN.format(shown=shown, tries=_TRIES.format(name="value", **parts))


def _tries(compiler: Compiler, funnel: FunnelSql) -> Tries:
    if funnel.of_ticks:
        return TickTries(compiler, funnel)
    if funnel.query.order == "strict":
        return StrictTries(compiler, funnel)
    if funnel.query.order == "unordered":
        return UnorderedTries(compiler, funnel)
    is_simple = are_disjoint(funnel.query.steps)
    return OrderedTries(compiler, funnel) if is_simple else OverlappingTries(compiler, funnel)


def _each_shown(compiler: Compiler, funnel: FunnelSql) -> str:
    return f"arrayMap(one -> {with_other_values(compiler, 'one', funnel.shown)}, value)"


def _actor_value(compiler: Compiler, funnel: FunnelSql) -> tuple[str, str]:
    """Return the expression of an actor's value, and the join that it needs."""
    query = funnel.query
    if query.breakdowns is None or funnel.valued_tries:
        return "''", ""
    if funnel.one_value_a_funnel:
        return "found.value", ""
    if query.breakdowns.parts[0].type in ACTOR_BREAKDOWNS:
        held = BreakdownSql(compiler, query.breakdowns)
        return held.value(), held.joins()
    none = compiler.bindings.text(no_value(query.breakdowns))
    if funnel.of_ticks:
        return f"ifNull(nullIf(found.value, ''), {none})", ""
    return _of_events(funnel, none), ""


def _of_events(funnel: FunnelSql, none: str) -> str:
    """Return SQL for an actor's first or last value; for attribution by `step`, an array of all."""
    query = funnel.query
    if query.order == "ordered":
        is_step = f"bitAnd(one.1, {TICKS - 1}) > {len(query.exclusions)}"
        order, text = "(bitShiftRight(one.1, 6), one.2)", 3
    else:
        is_step, order, text = f"bitAnd(one.3, {steps_mask(query)}) != 0", "(one.1, one.2)", 4
    if query.attribution == "step":
        return f"arrayMap(one -> one.{text}, arrayFilter(one -> {is_step}, elements))"
    filled = f"arrayFilter(one -> {is_step} AND one.{text} != {none}, elements)"
    index = 1 if query.attribution == "first_touch" else -1
    chosen = f"arraySort(one -> {order}, {filled})[{index}].{text}"
    return f"ifNull(nullIf({chosen}, ''), {none})"
