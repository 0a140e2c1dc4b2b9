"""The answer to a trend, as clients read it.

Source: insights.md, sections 4b to 4e; cohorts.md, section 23.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from math import floor
from typing import Any, Final

import msgspec

from fanion.insights.breakdowns import Breakdowns
from fanion.insights.calculation.cohort_labels import with_cohort_labels
from fanion.insights.calculation.entity_action import entity_action
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.sql.compiler import NONE, OTHER
from fanion.insights.trends.formula import evaluate_formula
from fanion.insights.trends.frames import Frame, Numbers
from fanion.insights.trends.query import Formula, Series, TrendsQuery

# Addresses in one answer. Each has the whole question in it; a larger answer has none.
URLS_MAX: Final = 2_000

_LABELS = {NONE: "None (i.e. no value)", OTHER: "Other (i.e. all remaining values)"}


@dataclass(frozen=True, slots=True)
class FrameNumbers:
    """The numbers of one range.

    Attributes:
        series: In the order of the question.
        of_formulas: The numbers of the series for each formula, if each shows values of its own.
        cohorts: The names of cohorts, by id.
        values: How many values of the breakdown each series or formula has; None if not known.
    """

    frame: Frame
    series: Sequence[Numbers]
    of_formulas: Sequence[Sequence[Numbers]] = ()
    cohorts: Mapping[int, str] = field(default_factory=dict)
    values: Sequence[int | None] = ()


@dataclass(frozen=True, slots=True)
class _Line:
    """One entry of the answer.

    Attributes:
        order: The index of the series or formula.
    """

    of: Series | Formula
    order: int
    value: str
    numbers: Sequence[float]
    of_frame: FrameNumbers

    @property
    def frame(self) -> Frame:
        return self.of_frame.frame


def trend_result(
    query: TrendsQuery, frames: Sequence[FrameNumbers], urls: PeopleUrls | None, now: datetime
) -> list[dict[str, Any]]:
    """Return one entry for each series or formula, and value of the breakdown.

    Series are in the order of the question, and the values of each by size. All entries of the
    current range come before those of the previous one.
    """
    lines = [line for frame in frames for line in _lines(query, frame)]
    if sum(len(line.numbers) for line in lines) > URLS_MAX:
        urls = None
    return [_entry(query, line, urls, now) for line in lines]


def _lines(query: TrendsQuery, frame_numbers: FrameNumbers) -> Iterator[_Line]:
    if query.formulas:
        for order, formula in enumerate(query.formulas):
            own = (
                frame_numbers.of_formulas[order]
                if frame_numbers.of_formulas
                else frame_numbers.series
            )
            numbers = formula_numbers(query, frame_numbers.frame, own, formula)
            yield from _sorted(query, _lines_of(formula, order, numbers, frame_numbers))
        return
    for order, (series, counted) in enumerate(zip(query.series, frame_numbers.series, strict=True)):
        numbers = _complete(query, counted, frame_numbers.frame)
        yield from _sorted(query, _lines_of(series, order, numbers, frame_numbers))


def _lines_of(
    of: Series | Formula, order: int, numbers: Numbers, frame_numbers: FrameNumbers
) -> list[_Line]:
    return [_Line(of, order, value, row, frame_numbers) for value, row in numbers.items()]


def _complete(query: TrendsQuery, numbers: Numbers, frame: Frame) -> Numbers:
    """Return the numbers of every value that is shown, smoothed and summed up as asked.

    A value without events has zeros: the only one without a breakdown, and each named cohort.
    """
    nothing = [0.0] * (1 if query.totals else len(frame.intervals.starts))
    if query.breakdowns is None:
        numbers = {"": numbers.get("", nothing)}
    else:
        is_of_cohorts = query.breakdowns.are_cohorts
        named = [part.key for part in query.breakdowns.parts] if is_of_cohorts else []
        missing = {key: nothing for key in named if key not in numbers} if numbers else {}
        hidden = OTHER if query.breakdowns.hide_other else None
        numbers = {value: row for value, row in numbers.items() if value != hidden} | missing
    return {value: _shaped(query, row) for value, row in numbers.items()}


def _shaped(query: TrendsQuery, numbers: Sequence[float]) -> Sequence[float]:
    if query.totals:
        return numbers
    if query.smoothed > 1:
        numbers = smooth(numbers, query.smoothed)
    return list(accumulate(numbers)) if query.shape == "cumulative" else numbers


def smooth(numbers: Sequence[float], over: int) -> list[float]:
    """Return the average of the last numbers up to each one, rounded down.

    Source: insights.md, section 4d.
    """
    sums = [0.0, *accumulate(numbers)]
    firsts = [max(0, index - over) for index in range(1, len(sums))]
    return [
        float(floor((sums[index] - sums[first]) / (index - first)))
        for index, first in enumerate(firsts, 1)
    ]


def largest_values(
    query: TrendsQuery, frame: Frame, series: Sequence[Numbers], formula: Formula
) -> list[str]:
    """Return the values with the largest results of a formula, as many as are shown."""
    assert query.breakdowns is not None
    counts = {
        value: _count_of(query, row)
        for value, row in formula_numbers(query, frame, series, formula).items()
    }
    largest = sorted(counts, key=lambda value: (-counts[value], value))
    return largest[: query.breakdowns.limit]


def formula_numbers(
    query: TrendsQuery, frame: Frame, series: Sequence[Numbers], formula: Formula
) -> Numbers:
    """Return the results of a formula for each value that any series has."""
    series = [_complete(query, numbers, frame) for numbers in series]
    nothing = [0.0] * (1 if query.totals else len(frame.intervals.starts))
    values = dict.fromkeys(value for numbers in series for value in numbers)
    if query.breakdowns is None:
        values = {"": None}
    results = {}
    for value in values:
        rows = [numbers.get(value, nothing) for numbers in series]
        points = zip(*rows, strict=True) if rows else [() for _ in nothing]
        results[value] = [evaluate_formula(formula.expression, point) for point in points]
    return results


def _sorted(query: TrendsQuery, lines: Sequence[_Line]) -> list[_Line]:
    def key(line: _Line) -> tuple[float, float, str]:
        return -_count_of(query, line.numbers), _bin(query, line.value), _label(query, line)

    return sorted(lines, key=key)


def _count_of(query: TrendsQuery, numbers: Sequence[float]) -> float:
    """Return the sum of the numbers; of running sums, the last one."""
    if query.shape == "cumulative":
        return numbers[-1] if numbers else 0.0
    return float(sum(numbers))


def _bin(query: TrendsQuery, value: str) -> float:
    """Return where a bin of a histogram begins, so that bins of equal size ascend."""
    parts = query.breakdowns.parts if query.breakdowns else ()
    if len(parts) != 1 or parts[0].bins is None or not value.startswith("["):
        return 0.0
    return float(value[1:].split(",")[0])


def _entry(
    query: TrendsQuery, line: _Line, urls: PeopleUrls | None, now: datetime
) -> dict[str, Any]:
    entry = {"action": _action(line), "label": _label(query, line)} | _points(query, line, now)
    if query.breakdowns is not None:
        entry["breakdown_value"] = _shown_value(query.breakdowns, line.value)
    if query.compare:
        entry["compare"] = True
        entry["compare_label"] = "previous" if line.frame.is_previous else "current"
    if query.totals:
        return entry | {"persons": _people(query, line, urls)}
    return entry | {"persons_urls": _people_of_points(query, line, urls)}


def _points(query: TrendsQuery, line: _Line, now: datetime) -> dict[str, Any]:
    if query.totals:
        total = float(line.numbers[0])
        nothing: dict[str, Any] = {"count": 0.0, "data": [], "days": [], "labels": []}
        return {**nothing, "filter": {}, "aggregated_value": total}
    intervals, span = line.frame.intervals, line.frame.span
    return {
        "count": _count_of(query, line.numbers),
        "data": list(line.numbers),
        "days": list(intervals.days),
        "labels": list(intervals.labels),
        "filter": {},
        "incomplete": intervals.unfinished(min(span.end, now)),
    }


def _shown_value(breakdowns: Breakdowns, value: str) -> Any:
    """Return the value: text, the id of a cohort, or a list of texts for several properties."""
    if breakdowns.dimensions > 1:
        values = parts_of(breakdowns, value)
        return values if len(values) > 1 else [value] * breakdowns.dimensions
    is_cohort = breakdowns.parts[0].type == "cohort"
    return int(value) if is_cohort and value.isdecimal() else value


def parts_of(breakdowns: Breakdowns, value: str) -> list[str]:
    """Return the values of several properties; the combined rest has only OTHER."""
    if breakdowns.dimensions == 1 or value == OTHER:
        return [value]
    return msgspec.json.decode(value, type=list[str])


def _label(query: TrendsQuery, line: _Line) -> str:
    if isinstance(line.of, Formula):
        return line.of.label
    if query.breakdowns is None:
        return line.of.entity.label
    values = parts_of(query.breakdowns, line.value)
    named = with_cohort_labels(query.breakdowns, values, line.of_frame.cohorts)
    label = "::".join(_LABELS.get(value, value) for value in named)
    return label if len(query.series) == 1 else f"{line.of.entity.label} - {label}"


def _people(query: TrendsQuery, line: _Line, urls: PeopleUrls | None, day: Any = None) -> Any:
    """Return where the persons of a number are listed; a formula has none."""
    if urls is None or isinstance(line.of, Formula):
        return {}
    place = {
        "entity_id": line.of.entity.id,
        "entity_type": line.of.entity.type_name,
        "entity_math": line.of.math.word,
        "entity_order": line.order,
        "day": day,
        "compare_label": "previous" if line.frame.is_previous else None,
    }
    if query.breakdowns is not None:
        place["breakdown_value"] = _shown_value(query.breakdowns, line.value)
    return {"filter": {}, "url": urls.url(**place)}


def _people_of_points(query: TrendsQuery, line: _Line, urls: PeopleUrls | None) -> list[Any]:
    """Return where the persons of each interval are listed.

    An interval is named by its start, with the time if a day has several.
    """
    if urls is None or isinstance(line.of, Formula):
        return []
    intervals = line.frame.intervals
    names = zip(intervals.days, intervals.starts, strict=True)
    return [
        _people(query, line, urls, start.isoformat() if " " in day else day) for day, start in names
    ]


def _action(line: _Line) -> dict[str, Any] | None:
    return None if isinstance(line.of, Formula) else entity_action(line.of.entity, line.order)
