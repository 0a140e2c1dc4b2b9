"""Questions about an experiment, calculated in the event store.

The answers are sums by variant, which are cached like results of insights; the statistics are
calculated from them for each request.

Source: experiments.md, sections 2, 3 and 7.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import isfinite
from time import perf_counter
from typing import Any, Final

from fanion.errors import Invalid
from fanion.experiments.calculation.exposures_sql import (
    EARLIER,
    HELD_OUT,
    exposures_statement,
    without_variant_statement,
)
from fanion.experiments.calculation.question import ExposureQuestion, MetricQuestion
from fanion.experiments.calculation.sums_sql import SumsSql
from fanion.experiments.calculation.units_sql import MULTIPLE, UnitsSql
from fanion.insights.calculation.service import Analysis, Calculation
from fanion.insights.dates.intervals import Intervals, cut_into_intervals
from fanion.insights.query import InsightQuery
from fanion.projects.model import Project
from fanion.properties.bindings import micros

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NO_ARMS: Final = {MULTIPLE: "multiple", HELD_OUT: "holdout", EARLIER: "earlier"}


@dataclass(frozen=True, slots=True)
class ExperimentCalculator:
    """The calculation of questions about experiments.

    Every call raises EventStoreUnavailable, RecordsUnavailable, Unavailable or Invalid.

    Attributes:
        timer: A clock, in seconds.
    """

    analysis: Analysis
    timer: Callable[[], float] = perf_counter

    async def answer(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> Mapping[str, Any]:
        """Return the `results` of a question, and what they took.

        `seconds` begins before the calculation waits for its turn.
        """
        started = self.timer()
        calculate = partial(self._calculate, project, query, now)
        results, rows_read = await self.analysis.complete(project, calculate)
        seconds = round(self.timer() - started, 3)
        return {"results": results, "rows_read": rows_read, "seconds": seconds}

    async def _calculate(
        self, project: Project, query: InsightQuery, now: datetime
    ) -> tuple[Any, int | None]:
        query, calculation = await self.analysis.begin(project, query, now)
        if isinstance(query, MetricQuestion):
            result = await calculate_sums(calculation, query)
        elif isinstance(query, ExposureQuestion):
            result = await calculate_exposures(calculation, query)
        else:
            raise Invalid("Questions of this kind are not calculated.", attr="kind")
        return result, calculation.rows_read.number


async def calculate_sums(
    calculation: Calculation, question: MetricQuestion, units: type[UnitsSql] = UnitsSql
) -> dict[str, Any]:
    """Return the sums of each variant that has units, by its key.

    Args:
        units: Says which variant a unit is in.
    """
    sql = SumsSql(calculation.context, question, calculation.zone, units)
    rows = await calculation.rows(sql.statement())
    arms = [dict(zip(sql.names, map(_plain, row), strict=True)) for row in rows]
    keys = question.window.variants
    return {
        keys[arm["arm"] - 1]: {name: value for name, value in arm.items() if name != "arm"}
        for arm in arms
    }


def _plain(value: Any) -> Any:
    """Return a number as JSON writes it; what is infinite or no number is None."""
    return None if isinstance(value, float) and not isfinite(value) else value


async def calculate_exposures(
    calculation: Calculation, question: ExposureQuestion
) -> dict[str, Any]:
    """Return the units of each variant by day, and those that are in none."""
    span = question.span(calculation.clock)
    days = cut_into_intervals(span, "day", calculation.zone)
    statement = exposures_statement(calculation.context, question, span, days.starts)
    rows = await calculation.rows(statement)
    without = without_variant_statement(calculation.context, question, span)
    [(calls,)] = await calculation.rows(without)
    return _exposures(question, days, rows) | {"without_variant": int(calls)}


def _exposures(
    question: ExposureQuestion, days: Intervals, rows: Sequence[tuple[Any, ...]]
) -> dict[str, Any]:
    keys = question.window.variants
    places = {micros(start): number for number, start in enumerate(days.starts)}
    counts = {key: [0] * len(days.starts) for key in keys}
    others = dict.fromkeys(_NO_ARMS.values(), 0)
    times: list[int] = []
    for place, day, units, first, last in rows:
        if place in _NO_ARMS:
            others[_NO_ARMS[place]] += int(units)
        else:
            counts[keys[place - 1]][places[day]] += int(units)
            times += [first, last]
    return {
        "days": list(days.days),
        "by_day": counts,
        **others,
        "first_at": _moment(min(times)) if times else None,
        "last_at": _moment(max(times)) if times else None,
    }


def _moment(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")
