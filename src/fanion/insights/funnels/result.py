"""The answer to a funnel, as clients read it.

Source: insights.md, sections 5f to 5h.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import cbrt, ceil, floor
from typing import Any, Final

from fanion.insights.calculation.cohort_labels import cohort_label
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.dates.intervals import Intervals
from fanion.insights.funnels.places import LABELS
from fanion.insights.funnels.query import FunnelsQuery
from fanion.insights.funnels.values_sql import parts_of
from fanion.insights.sql.compiler import OTHER
from fanion.properties.bindings import micros

_OTHER_LABEL: Final = "Other"

Rows = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class FunnelAnswer:
    """The parts of the answer beside the numbers.

    Attributes:
        cohorts: The names of cohorts, by id.
    """

    query: FunnelsQuery
    project_id: int
    cohorts: Mapping[int, str] = field(default_factory=dict)

    def steps(self, rows: Rows) -> list[Any]:
        """Return the list of steps, or with a breakdown one such list for each value.

        Args:
            rows: The rows of `step_counts`.
        """
        urls = PeopleUrls(self.project_id, "funnel", self.query.scope.sent)
        if self.query.breakdowns is None:
            return self._funnel(rows[0] if rows else self._empty(""), urls, {}, {})
        return [self._funnel_of_value(row, urls) for row in rows]

    def compared_steps(self, current: Rows, previous: Rows) -> list[Any]:
        """Return the steps of the range of the question, then those of the previous range.

        With a breakdown, both have the same values in the same order.
        """
        urls = PeopleUrls(self.project_id, "funnel", self.query.scope.sent)
        if self.query.breakdowns is None:
            of_ranges = [rows[0] if rows else self._empty("") for rows in (current, previous)]
            return [
                step
                for place, row in enumerate(of_ranges)
                for step in self._funnel(row, urls, *self._label(place))
            ]
        by_value = [{row[0]: row for row in rows} for rows in (current, previous)]
        values = list(dict.fromkeys([*by_value[0], *by_value[1]]))
        return [
            self._funnel_of_value(rows.get(value, self._empty(value)), urls, place)
            for place, rows in enumerate(by_value)
            for value in values
        ]

    def _label(self, place: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what names a range: in its entries, and in the place of their people."""
        if not self.query.compare:
            return {}, {}
        label = {"compare_label": LABELS[place]}
        return label, label if place else {}

    def _empty(self, value: str) -> tuple[Any, ...]:
        return (value, *[0] * (3 * len(self.query.steps)))

    def _funnel_of_value(
        self, row: tuple[Any, ...], urls: PeopleUrls, place: int = 0
    ) -> list[dict[str, Any]]:
        label, own = self._label(place)
        shown = self._breakdown(row[0])
        at = {"funnel_step_breakdown": shown["breakdown_value"], **own}
        return self._funnel(row, urls, {**shown, **label}, at)

    def _funnel(
        self,
        row: tuple[Any, ...],
        urls: PeopleUrls,
        shown: Mapping[str, Any],
        at: Mapping[str, Any],
    ) -> list[dict[str, Any]]:
        size = len(self.query.steps)
        counts, times = row[1 : size + 1], [None, None, *row[size + 1 :]]
        return [
            {
                **self._named(number),
                "people": [],
                "count": counts[place],
                "type": self.query.steps[number].type_name,
                "average_conversion_time": times[2 * place] if counts[place] else None,
                "median_conversion_time": times[2 * place + 1] if counts[place] else None,
                **self._people(urls, number, at),
                **shown,
            }
            for number, place in enumerate(self._places())
        ]

    def _places(self) -> list[int]:
        """Return the place of each step in a row, where the optional steps are the last."""
        numbers = range(len(self.query.steps))
        required = [n for n in numbers if self.query.steps[n].optional_at is None]
        places = [*required, *(number for number in numbers if number not in required)]
        return [places.index(number) for number in numbers]

    def _named(self, number: int) -> dict[str, Any]:
        step = self.query.steps[number]
        if self.query.order == "unordered":
            name = f"Completed {number + 1} step{'s' if number else ''}"
            return {"action_id": None, "name": name, "custom_name": None, "order": number}
        return {
            "action_id": step.id,
            "name": step.name or step.event or step.label,
            "custom_name": step.custom_name,
            "order": number,
        }

    def _people(
        self, urls: PeopleUrls, number: int, at: Mapping[str, Any]
    ) -> dict[str, str | None]:
        if self.query.counted_by is not None:
            return {"converted_people_url": None, "dropped_people_url": None}
        step = number + 1
        dropped = urls.url(funnel_step=-step, **at) if number else None
        return {
            "converted_people_url": urls.url(funnel_step=step, **at),
            "dropped_people_url": dropped,
        }

    def _breakdown(self, value: str) -> dict[str, Any]:
        """Return the value, and in `breakdown` a label for people."""
        shown = self._value(value)
        if self._is_cohort:
            return {"breakdown": cohort_label(value, self.cohorts), "breakdown_value": shown}
        label = [_OTHER_LABEL] if value == OTHER else shown
        return {"breakdown": label, "breakdown_value": shown}

    @property
    def _is_cohort(self) -> bool:
        breakdowns = self.query.breakdowns
        return breakdowns is not None and breakdowns.parts[0].type == "cohort"

    def _value(self, value: str) -> Any:
        """Return the value as a list of texts; for a cohort, its id."""
        assert self.query.breakdowns is not None
        if self._is_cohort:
            return value if value == "all" else int(value)
        return parts_of(self.query.breakdowns, value)

    def trends(self, rows: Rows, intervals: Intervals, place: int = 0) -> list[dict[str, Any]]:
        """Return one line, or with a breakdown one for each value.

        Args:
            rows: The rows of `interval_counts`.
            place: That of the range: 1 for the previous one.
        """
        label, _ = self._label(place)
        by_value: dict[str, dict[int, tuple[int, int]]] = {}
        for value, bucket, entered, reached in rows:
            by_value.setdefault(value, {})[int(bucket)] = (entered, reached)
        if self.query.breakdowns is None:
            return [_line(by_value.get("", {}), intervals) | label]
        return [
            _line(by_value[value], intervals) | self._breakdown(value) | label
            for value in sorted(by_value, key=lambda own: (-_entered(by_value[own]), own))
        ]

    def times(
        self, extents: Rows, counts: Rows, bins: "Bins", place: int = 0
    ) -> list[dict[str, Any]]:
        """Return one distribution of times, or with a breakdown one for each value.

        Args:
            extents: The rows of `time_extents`.
            counts: The rows of `binned_times`.
            place: That of the range: 1 for the previous one.
        """
        numbers = {(value, int(index)): number for value, index, number in counts}
        if self.query.breakdowns is None and not extents:
            extents = [("", 0, None, None, None, None, 0)]
        return [
            {
                "bins": [
                    [start, numbers.get((value, n), 0)] for n, start in enumerate(bins.starts)
                ],
                "average_conversion_time": average,
                "median_conversion_time": median,
                **({} if self.query.breakdowns is None else self._breakdown(value)),
                **self._label(place)[0],
            }
            for value, _, _, _, average, median, _ in extents
        ]


def _entered(counts: Mapping[int, tuple[int, int]]) -> int:
    return sum(entered for entered, _ in counts.values())


def _line(counts: Mapping[int, tuple[int, int]], intervals: Intervals) -> dict[str, Any]:
    """Return numbers by interval: percentages in `data`, with the counts behind them.

    `count` is the number of intervals.
    """
    found = [counts.get(micros(start), (0, 0)) for start in intervals.starts]
    return {
        "count": len(found),
        "data": [_rate(*numbers) for numbers in found],
        "entered": [entered for entered, _ in found],
        "converted": [reached for _, reached in found],
        "days": list(intervals.days),
        "labels": list(intervals.labels),
    }


def _rate(entered: int, reached: int) -> float:
    return round(reached / entered * 100, 2) if entered else 0.0


@dataclass(frozen=True, slots=True)
class Bins:
    """The bins that several distributions share.

    Attributes:
        number: How many there are, besides the one in which the largest time has its place; 0 if
            no one converted.
    """

    start: int = 0
    width: int = 1
    number: int = 0

    @property
    def starts(self) -> list[int]:
        last = self.number + 1 if self.number else 0
        return [self.start + n * self.width for n in range(last)]


def shared_bins(extents: Rows, bin_count: int | None) -> Bins:
    """Return the bins for the times of all rows of `time_extents` together.

    Source: insights.md, section 5h.
    """
    if not extents:
        return Bins()
    persons = sum(row[1] for row in extents)
    start = floor(min(row[2] for row in extents))
    number = ceil(cbrt(persons)) if bin_count is None else bin_count
    number = min(max(number, 1), 60 if bin_count is None else 90)
    width = ceil((ceil(max(row[3] for row in extents)) - start) / number)
    return Bins(start, width or 60, number)


def times_to_convert(rows: Rows) -> dict[str, Any]:
    """Return the bins, one more than asked so that the largest time has a place, and the average.

    Args:
        rows: The rows of `conversion_times`.
    """
    if not rows:
        return {"bins": [], "average_conversion_time": None}
    numbers = {int(index): number for _, _, _, _, index, number in rows}
    start, width, bins, average, _, _ = rows[0]
    shown = [[int(start + n * width), numbers.get(n, 0)] for n in range(int(bins) + 1)]
    return {"bins": shown, "average_conversion_time": average}
