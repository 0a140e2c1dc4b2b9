"""The statement of a metric: the sums of the values of each arm's units.

Source: experiments.md, sections 3 and 7.
"""

from zoneinfo import ZoneInfo

from fanion.experiments.calculation.question import MetricQuestion
from fanion.experiments.calculation.unit_values_sql import UnitValuesSql
from fanion.experiments.calculation.units_sql import UnitsSql
from fanion.experiments.metrics.model import (
    FunnelMetric,
    MeanMetric,
    Metric,
    RatioMetric,
    RetentionMetric,
)
from fanion.insights.sql.compiler import SqlContext, Statement

_SUMS = """
  SELECT {columns}
    FROM ({values})
GROUP BY arm
ORDER BY arm
"""


class SumsSql:
    """The statement of one metric, with the names of its columns.

    Args:
        units: Says which arm a unit is in.

    Attributes:
        names: The name of each column of a row; the first one is the number of the arm.
    """

    def __init__(
        self,
        context: SqlContext,
        question: MetricQuestion,
        zone: ZoneInfo,
        units: type[UnitsSql] = UnitsSql,
    ) -> None:
        self.question = question
        self.rows = UnitValuesSql(context, question, zone, units)
        columns = self._columns(question.metric)
        self.names = tuple(columns)
        listed = ",\n         ".join(f"{column} AS {name}_sum" for name, column in columns.items())
        self._text = _SUMS.format(columns=listed, values=self.rows.text)

    def statement(self) -> Statement:
        return self.rows.compiler.statement(self._text)

    def _columns(self, metric: Metric) -> dict[str, str]:
        common = {"arm": "arm", "number": "count()", "truncated": "countIf(is_truncated)"}
        if isinstance(metric, MeanMetric):
            return common | self._sums_of_mean(metric)
        if isinstance(metric, RatioMetric):
            return common | _SUMS_OF_RATIO | _bounds_of(metric)
        if isinstance(metric, RetentionMetric):
            return common | _SUMS_OF_RETENTION
        assert isinstance(metric, FunnelMetric)
        return common | self._sums_of_funnel(metric)

    def _sums_of_mean(self, metric: MeanMetric) -> dict[str, str]:
        bounds = _OF_BOUNDS if metric.percentiles.are_given else {}
        return _SUMS_OF_MEAN | self._sums_before() | bounds

    def _sums_before(self) -> dict[str, str]:
        return _SUMS_BEFORE if self.question.is_adjusted else {}

    def _sums_of_funnel(self, metric: FunnelMetric) -> dict[str, str]:
        steps = {
            f"step_{number}": f"countIf(step_{number})" for number in range(len(metric.series))
        }
        return _SUMS_OF_MEAN | self._sums_before() | steps


_SUMS_OF_MEAN: dict[str, str] = {"sum": "sum(y)", "sum_squares": "sum(y * y)"}
_SUMS_BEFORE: dict[str, str] = {
    "before_sum": "sum(x)",
    "before_sum_squares": "sum(x * x)",
    "product_sum": "sum(x * y)",
}
_SUMS_OF_RATIO: dict[str, str] = {
    **_SUMS_OF_MEAN,
    "denominator_sum": "sum(d)",
    "denominator_sum_squares": "sum(d * d)",
    "product_sum": "sum(y * d)",
}
_SUMS_OF_RETENTION: dict[str, str] = {
    "number": "countIf(is_starter)",
    "exposed": "count()",
    "sum": "sumIf(y, is_starter)",
    "sum_squares": "sumIf(y, is_starter)",
}
_OF_BOUNDS: dict[str, str] = {"high": "any(y_high)", "low": "any(y_low)"}


def _bounds_of(metric: RatioMetric) -> dict[str, str]:
    given = {
        "": ("y", metric.numerator_percentiles),
        "denominator_": ("d", metric.denominator_percentiles),
    }
    return {
        f"{prefix}{bound}": f"any({value}_{bound})"
        for prefix, (value, percentiles) in given.items()
        if percentiles.are_given
        for bound in ("high", "low")
    }
