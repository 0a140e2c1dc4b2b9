"""The statements of a funnel.

Source: insights.md, sections 5, 13 and 17.
"""

from collections.abc import Sequence
from datetime import datetime

from fanion.insights.funnels.actor_tries_sql import tries_of_actors
from fanion.insights.funnels.elements_sql import FunnelSql
from fanion.insights.funnels.values_sql import bound_value
from fanion.insights.sql.breakdown import with_other_values
from fanion.insights.sql.compiler import OTHER, Compiler, Statement
from fanion.properties.bindings import micros

# Averages the times of an actor over its tries that reach equally far.
_PEOPLE = """
  SELECT actor, {value} AS value, arrayMax(tries.1) AS level,
         arrayFilter(try -> try.1 = level, tries) AS best{times}
    FROM ({tries})
   WHERE notEmpty(tries){reached}
"""

_COUNTS = """
  SELECT value{counts}{times}, count() OVER () AS values
    FROM ({people})
GROUP BY value
ORDER BY entered DESC, value
   LIMIT {limit}
"""

# An actor has one value, so the counts of values that are not shown can be added up.
_RANKED = """
  SELECT if(place <= {limit}, value, {other}) AS shown, sumForEach(counts),
         sumForEach(sums), quantileExactInclusiveIfMergeForEach(0.5)(medians),
         sum(count()) OVER () AS values
    FROM (SELECT value, [{counts}] AS counts, [{sums}] AS sums, [{medians}] AS medians,
                 row_number() OVER (ORDER BY countIf(level >= 1) DESC, value) AS place
            FROM ({people})
        GROUP BY value)
GROUP BY shown
ORDER BY sum(counts[1]) DESC, shown
"""

_INTERVALS = """
  SELECT value, bucket, countIf(level > {first}) AS entered, countIf(level > {last}) AS reached
    FROM ({people})
GROUP BY value, bucket
ORDER BY value, bucket
"""

# Has each actor once for each interval, with the best try that began in it.
_IN_INTERVALS = """
  SELECT actor, bucket, best.1 AS level, best.2 AS value
    FROM (SELECT actor, bucket, argMax((level, value), (level, -toInt64(place))) AS best
            FROM (SELECT actor, own_value, arrayJoin(arrayZip(tries, arrayEnumerate(tries))) AS one,
                         one.1 AS try, one.2 AS place, try.1 AS level, try.2 AS at,
                         {value} AS value, {bucket} AS bucket
                    FROM ({tries}))
        GROUP BY actor, own_value, bucket)
   WHERE {reached}
"""

_ACTORS = """
  SELECT actor, furthest AS value
    FROM (SELECT actor, toUInt64(max(level)) AS furthest
            FROM ({people})
           WHERE {where}
        GROUP BY actor)
ORDER BY furthest DESC, actor
"""

_BINS = """
  SELECT least_of_all, width, bins, average, place, count() AS number
    FROM (SELECT least_of_all, width, bins, average,
                 intDiv(toInt64(floor(arrayJoin(samples))) - least_of_all, width) AS place
            FROM (SELECT groupArray(sample) AS samples,
                         length(samples) AS number,
                         arrayAvg(samples) AS average,
                         toInt64(floor(arrayMin(samples))) AS least_of_all,
                         {bins} AS bins,
                         toInt64(ceil((ceil(arrayMax(samples)) - least_of_all) / bins)) AS rough,
                         if(rough = 0, 60, rough) AS width
                    FROM (SELECT {sample} AS sample FROM ({people})))
           WHERE number > 0)
GROUP BY least_of_all, width, bins, average, place
ORDER BY place
"""


def step_counts(funnel: FunnelSql, limit: int) -> Statement:
    """Return the statement of the steps' counts and times, with the largest first step first.

    Rows: value; how many reached each step, then how many did each optional one; then, for all but
    the first, the average and the median of the seconds since the previous step; how many values
    there are.
    """
    compiler = Compiler(funnel.context)
    steps = _later_steps(funnel)
    counts = ", countIf(level >= 1) AS entered" + "".join(
        f", countIf({is_in})" for _, is_in in steps
    )
    times = "".join(
        f", avgIf({seconds}, {is_in}), quantileExactInclusiveIf(0.5)({seconds}, {is_in})"
        for seconds, is_in in steps
    )
    people = people_of_steps(compiler, funnel, range(2, len(funnel.query.steps) + 1))
    return compiler.statement(
        _COUNTS.format(counts=counts, times=times, people=people, limit=limit)
    )


def ranked_step_counts(funnel: FunnelSql, limit: int) -> Statement:
    """Return the statement of `step_counts` in which all but the largest values are OTHER.

    Rows: value; a list of how many reached each step, then did each optional one; then, for all of
    them but the first, lists of the seconds of all who reached it, and of their medians; how many
    values there are.

    Args:
        funnel: A funnel with several steps, in which an actor has one value.
        limit: How many values are kept, those with the most actors.
    """
    compiler = Compiler(funnel.context)
    steps = _later_steps(funnel)
    median = "quantileExactInclusiveIfState(0.5)"
    return compiler.statement(
        _RANKED.format(
            limit=limit,
            other=compiler.bindings.text(OTHER),
            counts=", ".join(["countIf(level >= 1)", *(f"countIf({is_in})" for _, is_in in steps)]),
            sums=", ".join(f"sumIf({seconds}, {is_in})" for seconds, is_in in steps),
            medians=", ".join(f"{median}({seconds}, {is_in})" for seconds, is_in in steps),
            people=people_of_steps(compiler, funnel, range(2, len(funnel.query.steps) + 1)),
        )
    )


def _later_steps(funnel: FunnelSql) -> list[tuple[str, str]]:
    """Return for each required step but the first, then for each optional one, two expressions.

    The first has the seconds to it from the required step before it, the second tells who did it.
    """
    required = range(2, len(funnel.query.steps) + 1)
    optional = range(len(funnel.query.optional))
    return [
        *((f"seconds_{number}", f"level >= {number}") for number in required),
        *((f"optional_seconds_{index}", f"is_done_{index}") for index in optional),
    ]


def interval_counts(funnel: FunnelSql, starts: Sequence[datetime]) -> Statement:
    """Return the statement of the conversions by interval.

    Rows: value; start of the interval in microseconds; how many reached the first measured step;
    how many of them reached the last measured one.
    """
    compiler = Compiler(funnel.context)
    query = funnel.query
    people = _in_intervals(compiler, funnel, starts)
    return compiler.statement(
        _INTERVALS.format(first=query.from_step, last=query.to_step, people=people)
    )


def conversion_times(funnel: FunnelSql) -> Statement:
    """Return the statement of the histogram of conversion times.

    Rows: start, width and number of the bins; average in seconds; number of a bin that is not
    empty; persons in this bin.
    """
    compiler = Compiler(funnel.context)
    query = funnel.query
    numbers = range(query.from_step + 2, query.to_step + 2)
    people = people_of_steps(compiler, funnel, numbers, f"level > {query.to_step}")
    return compiler.statement(
        _BINS.format(
            bins=_bins(query.bin_count),
            sample=" + ".join(f"seconds_{number}" for number in numbers),
            people=people,
        )
    )


def _bins(bin_count: int | None) -> str:
    """Return SQL for the number of bins.

    Source: insights.md, section 5h.
    """
    if bin_count is not None:
        return f"toInt64({min(max(bin_count, 1), 90)})"
    return "toInt64(least(60, greatest(1, ceil(cbrt(number)))))"


def actors_of_steps(
    funnel: FunnelSql, levels: Sequence[int], value: str | None = None
) -> Statement:
    """Return the statement of rows (actor, level), for actors with exactly one of these levels."""
    compiler = Compiler(funnel.context)
    where = f"level IN {compiler.bindings.add(list(levels), 'Array(UInt8)')}"
    return _actors_where(compiler, funnel, where, value)


def actors_of_optional(
    funnel: FunnelSql, index: int, *, skipped: bool, value: str | None = None
) -> Statement:
    """Return the statement of rows (actor, level), for actors that reached an optional step.

    Args:
        index: The place of the step among the optional ones.
        skipped: Whether to return those who reached the required step before it and did not do it.
    """
    compiler = Compiler(funnel.context)
    is_done = f"{'NOT ' if skipped else ''}is_done_{index}"
    where = f"level > {funnel.query.optional[index].after} AND {is_done}"
    return _actors_where(compiler, funnel, where, value)


def _actors_where(
    compiler: Compiler, funnel: FunnelSql, where: str, value: str | None
) -> Statement:
    where += _value_condition(compiler, funnel, value)
    people = people_of_steps(compiler, funnel, ())
    return compiler.statement(_ACTORS.format(people=people, where=where))


def actors_of_interval(
    funnel: FunnelSql,
    starts: Sequence[datetime],
    start: datetime,
    *,
    dropped: bool,
    value: str | None = None,
) -> Statement:
    """Return the statement of rows (actor, level), for actors that began in one interval.

    Args:
        start: The start of the interval.
        dropped: Whether to return those who did not reach the last measured step, not those who
            did.
    """
    compiler = Compiler(funnel.context)
    query = funnel.query
    where = f"bucket = {compiler.bindings.add(micros(start), 'Int64')} AND "
    where += (
        f"level > {query.from_step} AND level <= {query.to_step}"
        if dropped
        else f"level > {query.to_step}"
    )
    where += _value_condition(compiler, funnel, value)
    people = _in_intervals(compiler, funnel, starts)
    return compiler.statement(_ACTORS.format(people=people, where=where))


def _value_condition(compiler: Compiler, funnel: FunnelSql, value: str | None) -> str:
    if value is None or funnel.query.breakdowns is None:
        return ""
    return f" AND value = {bound_value(compiler, funnel.query.breakdowns, value)}"


def people_of_steps(
    compiler: Compiler, funnel: FunnelSql, numbers: Sequence[int], reached: str = "1"
) -> str:
    """Return rows (actor, value, level, seconds to each of these steps); steps count from 1.

    For each optional step the rows have `is_done_k` and `optional_seconds_k`, which count from 0.
    """
    times = "".join(f", {_seconds(number)} AS seconds_{number}" for number in numbers)
    times += "".join(
        _optional_columns(funnel, index) for index in range(len(funnel.query.optional))
    )
    return _PEOPLE.format(
        times=times,
        value=_try_value(compiler, funnel, "best[1]") or "own_value",
        tries=tries_of_actors(compiler, funnel),
        reached=f" AND {reached} AND {_attributed(funnel)}",
    )


def _seconds(number: int) -> str:
    """Return SQL for the seconds to a step from the previous one."""
    return f"arrayAvg(try -> try.{number + 1} - try.{number}, best) / 1e6"


def _optional_columns(funnel: FunnelSql, index: int) -> str:
    """Return the columns of an optional step, which an actor did if one of its best tries did."""
    place = len(funnel.query.steps) + 2 + index
    before = funnel.query.optional[index].after + 2
    return (
        f", arrayFilter(try -> try.{place} != 0, best) AS done_{index}"
        f", notEmpty(done_{index}) AS is_done_{index}"
        f", arrayAvg(try -> try.{place} - try.{before}, done_{index}) / 1e6"
        f" AS optional_seconds_{index}"
    )


def _in_intervals(compiler: Compiler, funnel: FunnelSql, starts: Sequence[datetime]) -> str:
    bound = compiler.bindings.add([micros(start) for start in starts], "Array(Int64)")
    origin = compiler.bindings.add(micros(funnel.span.start) - 1, "Int64")
    return _IN_INTERVALS.format(
        value=_try_value(compiler, funnel, "try") or "own_value",
        bucket=f"roundDown(toInt64(at) + {origin}, {bound})",
        tries=tries_of_actors(compiler, funnel),
        reached=_attributed(funnel),
    )


def _attributed(funnel: FunnelSql) -> str:
    """Return the condition that an actor reached the step that gives its value, if a step does."""
    return f"level > {funnel.query.attribution_step}" if funnel.valued_tries else "1"


def _try_value(compiler: Compiler, funnel: FunnelSql, expression: str) -> str | None:
    """Return SQL for the value of a try, None if tries have none."""
    if not funnel.valued_tries:
        return None
    place = len(funnel.query.steps) + len(funnel.query.optional) + 2
    return with_other_values(compiler, f"{expression}.{place}", funnel.shown)
