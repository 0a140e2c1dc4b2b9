"""The rows behind the sums of a metric: the units that it counts, each with its value.

Source: experiments.md, sections 3 and 7.
"""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from fanion.experiments.calculation.question import MetricQuestion
from fanion.experiments.calculation.units_sql import UNIT_EVENTS_MAX, UnitsSql
from fanion.experiments.calculation.values_sql import ValuesSql
from fanion.experiments.metrics.model import (
    FunnelMetric,
    MeanMetric,
    Metric,
    Percentiles,
    RatioMetric,
    RetentionMetric,
)
from fanion.insights.sql.compiler import Compiler, SqlContext

_VALUES = """
  SELECT {keys}, {columns}, {is_truncated} AS is_truncated
    FROM ({units})
   WHERE arm != 0 AND {is_matured}
"""
_STARTED = """
  SELECT {keys}, start.1 != 0 AS is_starter, {came_back} AS y, is_truncated
    FROM (SELECT {keys}, {start} AS start, done_1, {is_truncated} AS is_truncated
            FROM ({units})
           WHERE arm != 0)
   WHERE start.1 = 0 OR {has_matured}
"""
_CAPPED = """
  SELECT *, {caps}
    FROM (SELECT *, {bounds}
            FROM ({values}))
"""


class UnitValuesSql:
    """The rows of one metric: (arm, y, is_truncated) and, by its kind, further columns.

    A funnel has `step_0` and so on, a ratio its denominator as `d`, retention `is_starter`, and a
    metric that is adjusted the value before as `x`.

    Args:
        units: Says which arm a unit is in.
        with_actors: Whether the rows have the unit itself too, as `actor`.

    Attributes:
        text: The rows.
    """

    def __init__(
        self,
        context: SqlContext,
        question: MetricQuestion,
        zone: ZoneInfo,
        units: type[UnitsSql] = UnitsSql,
        *,
        with_actors: bool = False,
    ) -> None:
        self.compiler = Compiler(context)
        self.question = question
        sql = units(self.compiler, question, question.reach(context.now), context.now)
        self.values = ValuesSql(sql, question, zone)
        self._keys = ("arm", "actor") if with_actors else ("arm",)
        self._collected = self.values.collected()
        self._units = sql.counted(sql.units(self._collected))
        self.text = self._rows(question.metric)

    def _rows(self, metric: Metric) -> str:
        if isinstance(metric, MeanMetric):
            return self._mean(metric)
        if isinstance(metric, RatioMetric):
            return self._ratio(metric)
        if isinstance(metric, RetentionMetric):
            return self._retention(metric)
        assert isinstance(metric, FunnelMetric)
        return self._funnel(metric)

    def _of_units(self, columns: Sequence[str]) -> str:
        return _VALUES.format(
            keys=", ".join(self._keys),
            columns=", ".join(columns),
            is_truncated=self._is_truncated(),
            units=self._units,
            is_matured=self.values.is_matured(),
        )

    def _is_truncated(self) -> str:
        lengths = (f"length(done_{number})" for number in range(len(self._collected)))
        return f"greatest({', '.join(['0', *lengths])}) >= {UNIT_EVENTS_MAX}"

    def _mean(self, metric: MeanMetric) -> str:
        values = self.values
        columns = [f"{values.mean(metric, values.after)} AS y"]
        if self.question.is_adjusted:
            columns.append(f"{values.mean(metric, values.before)} AS x")
        return self._capped(self._of_units(columns), {"y": metric.percentiles}, self._follows())

    def _follows(self) -> dict[str, str]:
        """Return the values before, which have the bounds of those after."""
        return {"x": "y"} if self.question.is_adjusted else {}

    def _ratio(self, metric: RatioMetric) -> str:
        values = self.values
        numerator = values.number(metric.numerator, "done_0", values.after)
        denominator = values.number(metric.denominator, "done_1", values.after)
        rows = self._of_units([f"{numerator} AS y", f"{denominator} AS d"])
        percentiles = {"y": metric.numerator_percentiles, "d": metric.denominator_percentiles}
        return self._capped(rows, percentiles, {})

    def _funnel(self, metric: FunnelMetric) -> str:
        values = self.values
        steps = values.reached(metric, values.after)
        columns = [f"{step} AS step_{number}" for number, step in enumerate(steps)]
        columns.append(f"toFloat64(step_{len(steps) - 1}) AS y")
        if self.question.is_adjusted:
            columns.append(f"toFloat64({values.reached(metric, values.before)[-1]}) AS x")
        return self._of_units(columns)

    def _retention(self, metric: RetentionMetric) -> str:
        return _STARTED.format(
            keys=", ".join(self._keys),
            came_back=f"toFloat64({self.values.came_back(metric)})",
            start=self.values.start(metric),
            is_truncated=self._is_truncated(),
            units=self._units,
            has_matured=self.values.has_matured(metric),
        )

    def _capped(
        self, rows: str, percentiles: dict[str, Percentiles], follows: dict[str, str]
    ) -> str:
        """Return rows whose values are limited to the bounds of all arms together.

        Args:
            percentiles: Of each value, where its bounds lie.
            follows: Further values, which have the bounds of others.
        """
        given = {name: own for name, own in percentiles.items() if own.are_given}
        if not given:
            return rows
        bounds = [bound for name, own in given.items() for bound in _bounds(name, own)]
        limited = {name: name for name in given} | {
            name: other for name, other in follows.items() if other in given
        }
        caps = [f"{_limit(name, other)} AS {name}_capped" for name, other in limited.items()]
        capped = _CAPPED.format(caps=", ".join(caps), bounds=", ".join(bounds), values=rows)
        renamed = [f"{name}_capped AS {name}" for name in limited]
        kept = [name for name in (*percentiles, *follows) if name not in limited]
        shown = [f"{name}_{bound}" for name in given for bound in ("high", "low")]
        names = ", ".join([*self._keys, "is_truncated", *renamed, *kept, *shown])
        return f"SELECT {names} FROM ({capped})"


def _bounds(name: str, percentiles: Percentiles) -> Sequence[str]:
    high, low = percentiles.upper, percentiles.lower
    is_any = f"quantileExactIf({high!r})({name}, {name} != 0)"
    upper = is_any if percentiles.ignores_zeros else f"quantileExact({high!r})({name})"
    return [
        f"{'NULL' if high is None else f'{upper} OVER ()'} AS {name}_high",
        f"{'NULL' if low is None else f'quantileExact({low!r})({name}) OVER ()'} AS {name}_low",
    ]


def _limit(name: str, other: str) -> str:
    """Return a value within the bounds; an upper bound of 0, or of no values, caps nothing."""
    high, low = f"{other}_high", f"{other}_low"
    raised = f"greatest({name}, ifNull({low}, {name}))"
    return f"if(ifNull(isFinite({high}) AND {high} != 0, 0), least({raised}, {high}), {raised})"
