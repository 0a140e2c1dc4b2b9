"""The statements of paths.

Each actor has one array of events, ordered by time. It is split into paths, and each path is cut to
its steps. Lambdas never name an array of the row, since it would be copied for each element.

An event is one number: its time, its uuid, which orders events with equal times, and a hash of its
name, because texts take three times as long. Steps get names when the largest edges are known.
Each question has its own hash; with a million names, whatever they are, two have the same hash with
a probability of 10^-7.

Source: insights.md, sections 9 and 17.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fanion.insights.dates.intervals import DateRange
from fanion.insights.dates.ranges import RangeClock
from fanion.insights.parsing.path_cleaning import Cleaning
from fanion.insights.paths.names_sql import BETWEEN, StepNames, number_of, numbers_of
from fanion.insights.paths.query import PathsQuery
from fanion.insights.paths.within_sql import within_funnel
from fanion.insights.sql.compiler import Compiler, SqlContext, Statement

# Grouped by stored person.
FOUND = """
  WITH {cleaned}, {number} AS name
  SELECT {who} AS who,
         groupArray(bitShiftLeft(toUInt256(toUnixTimestamp64Micro(timestamp) + {zero}), 192)
                    + bitShiftLeft(toUInt256(toUInt128(uuid)), 64) + name) AS happened
    FROM events
   WHERE {where}
GROUP BY who
"""
# Added to times, which may be before 1970.
_ZERO: Final = 2**62

# A path ends where the gap or more lies between two events. Of equal names in a row the last stays.
PATHS = """
  SELECT actor, {path} AS {name}
    FROM (SELECT actor, arraySort(groupArrayArray(happened)) AS sorted,
                 arrayMap(one -> toInt64(bitShiftRight(one, 192)), sorted) AS at,
                 arrayMap(one -> toUInt64(one), sorted) AS names
            FROM ({resolved})
        GROUP BY actor)
         ARRAY JOIN arraySplit((one, gap) -> gap >= {gap}, arrayZip(at, names),
                               arrayDifference(at)) AS whole
"""
PATH = """arrayFilter((one, is_last) -> is_last, whole,
                     arrayPushBack(arrayMap((name, next) -> name != next,
                                            arrayPopBack(whole.2), arrayPopFront(whole.2)),
                                   true))"""

# Each step with the one that follows, and after how long. Nothing follows the last one.
STEPS = """
  SELECT {actor}step, source, target, left = 1 AS is_last, waited
    FROM ({limited})
         ARRAY JOIN arrayEnumerate(steps) AS step,
                    arrayReverse(arrayEnumerate(steps)) AS left,
                    steps.2 AS source,
                    arrayShiftLeft(steps.2, 1) AS target,
                    arrayShiftLeft(arrayDifference(steps.1), 1) AS waited
"""

# Edges have the hashes of names, which take a third of the time. Only those that have as many paths
# as one that is shown are ordered by name: of 87,000 edges this saves 170 ms.
EDGES = """
  SELECT step, source, target, is_last, paths, mean_ms, is_wanted,
         row_number() OVER (
           ORDER BY is_large DESC, if(is_large, paths, 0) DESC,
                    if(is_large, concat(toString(step), '_'), ''),
                    if(is_large, transform(source, all_names.1, all_names.3, 0), 0),
                    if(is_large, transform(target, all_names.1, all_names.3, 0), 0)) AS place
    FROM (SELECT step, source, target, is_last, paths, mean_ms, is_last = 0 {weights} AS is_wanted,
                 is_wanted AND rank() OVER (ORDER BY is_wanted DESC, paths DESC) <= {edges}
                   AS is_large
            FROM (SELECT step, source, target, is_last, count() AS paths,
                         avg(waited) / 1000 AS mean_ms
                    FROM ({steps})
                GROUP BY step, source, target, is_last))
"""

# The largest edges, and all steps that they join, with the paths that reached and ended there.
NODES = """
  WITH {names} AS all_names
  SELECT node.1 AS number, node.2 AS hash, transform(hash, all_names.1, all_names.2, '') AS name,
         sumIf(paths, node.3 = 'out') AS reached,
         sumIf(paths, node.3 = 'out' AND is_last) AS ended,
         groupArrayIf((source, paths, mean_ms), node.3 = 'in' AND is_wanted AND place <= {edges})
           AS incoming
    FROM ({counted})
         ARRAY JOIN if(is_last, [(step, source, 'out')],
                       [(step, source, 'out'), (step + 1, target, 'in')]) AS node
GROUP BY number, hash
  HAVING max(is_wanted AND place <= {edges})
"""

ACTORS = """
  SELECT actor, count() AS paths
    FROM ({steps})
   WHERE {test}
GROUP BY actor
ORDER BY paths DESC, actor
"""


@dataclass(frozen=True, slots=True)
class PathsRange:
    """The inputs to the statements of paths.

    Attributes:
        cleaning: The rules of the project, then those of the question.
    """

    context: SqlContext
    query: PathsQuery
    span: DateRange
    clock: RangeClock
    cleaning: Sequence[Cleaning] = ()


@dataclass(frozen=True, slots=True)
class EdgePlace:
    """Paths from one step to the next, either of them or both; steps count from 1.

    Attributes:
        not_to: The targets that are shown, if all others are meant.
    """

    source: tuple[int, str] | None = None
    target: tuple[int, str] | None = None
    not_to: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class EndPlace:
    """Paths that end with a step."""

    last: tuple[int, str]


def paths_statement(paths_range: PathsRange) -> Statement:
    """Return the statement of the steps and the edges that are shown.

    Rows: number, hash and name of a step; paths that reached it; paths that ended there; the shown
    edges to it, as (hash of the source, which has a row too, paths, mean milliseconds).
    """
    compiler, query = Compiler(paths_range.context), paths_range.query
    bounds = [(">=", query.weight_min), ("<=", query.weight_max)]
    weights = "".join(
        f" AND paths {comparison} {compiler.bindings.add(bound, 'UInt64')}"
        for comparison, bound in bounds
        if bound is not None
    )
    names = StepNames(compiler, query, paths_range.cleaning)
    steps = _steps(compiler, paths_range, names)
    edges = compiler.bindings.add(query.edge_limit, "UInt64")
    counted = EDGES.format(weights=weights, steps=steps, edges=edges)
    all_names = names.all_within(paths_range.span)
    return compiler.statement(NODES.format(edges=edges, counted=counted, names=all_names))


def actors_statement(paths_range: PathsRange, place: EdgePlace | EndPlace) -> Statement:
    """Return the statement of rows (actor, number of its paths)."""
    compiler = Compiler(paths_range.context)
    names = StepNames(compiler, paths_range.query, paths_range.cleaning)
    steps = _steps(compiler, paths_range, names, "actor, ")
    return compiler.statement(ACTORS.format(steps=steps, test=_test(compiler, place)))


def _test(compiler: Compiler, place: EdgePlace | EndPlace) -> str:
    bind = compiler.bindings

    def is_step(step: tuple[int, str], column: str = "source", before: int = 0) -> str:
        number = bind.add(step[0] - before, "Int64")
        return f"step = {number} AND {column} = {number_of(compiler, bind.text(step[1]))}"

    if isinstance(place, EndPlace):
        return f"is_last AND {is_step(place.last)}"
    tests = ["is_last = 0"]
    if place.source is not None:
        tests.append(is_step(place.source))
    if place.target is not None:
        tests.append(is_step(place.target, "target", before=1))
    if place.not_to is not None:
        tests.append(f"NOT has({numbers_of(compiler, place.not_to)}, target)")
    return " AND ".join(tests)


def _steps(compiler: Compiler, paths_range: PathsRange, names: StepNames, actor: str = "") -> str:
    query = paths_range.query
    conditions = [_where(compiler, paths_range), *names.checks]
    if query.excluded:
        conditions.append(f"NOT has({numbers_of(compiler, query.excluded)}, name)")
    rows = FOUND.format(
        who=compiler.who(),
        cleaned=names.columns,
        number=names.number,
        zero=_ZERO,
        where="\n   AND ".join(conditions),
    )
    resolved = compiler.resolved(rows, ["happened"])
    if query.within is not None:
        resolved = within_funnel(compiler, query.within, paths_range.clock, resolved, _ZERO)
    return STEPS.format(actor=actor, limited=_limited(compiler, query, resolved))


def _where(compiler: Compiler, paths_range: PathsRange) -> str:
    where, query, bind = (
        compiler.where(paths_range.span, None),
        paths_range.query,
        compiler.bindings,
    )
    kinds = [
        *(f"event = {bind.text(name)}" for name in query.event_types if name != "custom_event"),
        *(["NOT startsWith(event, '$')"] if "custom_event" in query.event_types else []),
        *([f"event IN {bind.texts(query.events)}"] if query.events else []),
    ]
    if kinds:
        where += f"\n   AND ({' OR '.join(kinds)})"
    # These events have other names in a path.
    left_out = [name for name in query.excluded if name in ("$pageview", "$screen")]
    return f"{where}\n   AND event NOT IN {bind.texts(left_out)}" if left_out else where


def _limited(compiler: Compiler, query: PathsQuery, resolved: str) -> str:
    """Return the steps of each path that count; paths without the start or the end have none."""
    limit = query.step_limit
    if query.start is None and query.end is None:
        steps = f"arraySlice({PATH}, 1, {limit})"
        return PATHS.format(path=steps, name="steps", gap=query.gap_us, resolved=resolved)
    paths = PATHS.format(path=PATH, name="path", gap=query.gap_us, resolved=resolved)
    if query.start is not None:
        first = _first(compiler, query.start, "path")
        paths = (
            f"SELECT actor, if({first} = 0, [], arraySlice(path, {first})) AS path FROM ({paths})"
        )
    if query.end is None:
        return f"SELECT actor, arraySlice(path, 1, {limit}) AS steps FROM ({paths})"
    after = 0 if query.start is None else 1  # the start cannot be the end too
    last = _first(compiler, query.end, f"arraySlice(path, {after + 1})")
    cut = f"if({last} = 0, [], arraySlice(path, 1, {last} + {after}))"
    paths = f"SELECT actor, {cut} AS path FROM ({paths})"
    steps = f"arraySlice(path, -{limit})" if query.start is None else _both_ends(compiler, limit)
    return f"SELECT actor, {steps} AS steps FROM ({paths})"


def _both_ends(compiler: Compiler, limit: int) -> str:
    """Return the first and last steps of a path that is too long, and one step for the rest."""
    half = limit // 2
    number = number_of(compiler, compiler.bindings.text(BETWEEN))
    between = f"[(path[{half + 1}].1, {number})]"
    ends = f"arraySlice(path, 1, {half}), {between}, arraySlice(path, -{half}, {half})"
    longer = f"arrayConcat({ends})" if half else "arraySlice(path, 1, 1)"
    return f"if(length(path) > {limit}, {longer}, path)"


def _first(compiler: Compiler, point: str, path: str) -> str:
    """Return SQL for the position of the first step with this name, from 1; 0 without any."""
    names = [point, f"{point}/"]
    numbers = (number_of(compiler, compiler.bindings.text(name)) for name in names)
    tests = " OR ".join(f"one.2 = {number}" for number in numbers)
    return f"arrayFirstIndex(one -> {tests}, {path})"
