"""Retention in plain Python, person by person and interval by interval, from the reference."""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.histories import History, HistoryEvent

Test = Callable[[HistoryEvent], bool]


def starts(zone_name: str, period: str, number: int, last: datetime) -> list[datetime]:
    """Return the starts of the last `number` intervals up to that of `last`, and the end of it."""
    zone = ZoneInfo(zone_name)
    if period == "Hour":
        offset = timedelta(minutes=last.astimezone(zone).minute)
        hour = last.replace(second=0, microsecond=0) - offset
        return [hour - timedelta(hours=number - 1 - n) for n in range(number + 1)]
    day = last.astimezone(zone).date()
    first = {"Day": day, "Week": _sunday(day), "Month": day.replace(day=1)}[period]
    days = [_moved(first, period, n - number + 1) for n in range(number + 1)]
    return [datetime(d.year, d.month, d.day, tzinfo=zone).astimezone(UTC) for d in days]


def _sunday(day: date) -> date:
    while day.weekday() != 6:
        day -= timedelta(days=1)
    return day


def _moved(day: date, period: str, number: int) -> date:
    if period == "Month":
        months = day.year * 12 + day.month - 1 + number
        return date(months // 12, months % 12 + 1, 1)
    return day + timedelta(days=number * (7 if period == "Week" else 1))


def retention(
    history: History,
    bounds: Sequence[datetime],
    target: Test,
    returning: Test,
    *,
    first_time: bool = False,
    cumulative: bool = False,
    occurrences: int = 1,
    window: timedelta | None = None,
    sizes: Sequence[int] = (),
    who: Callable[[HistoryEvent], Any] | None = None,
) -> list[list[int]]:
    """Return the triangle of rows.

    Args:
        bounds: The starts of the rows, and the end of the last one.
        window: The length of the windows that begin with the first event of a person.
        sizes: The numbers of intervals that each value after the first covers.
        who: Returns the actor of an event, None if it is left out.
    """
    who = who or history.actor
    rows = len(bounds) - 1
    sizes = sizes or [1] * rows
    brackets = [range(1 + sum(sizes[:n]), 1 + sum(sizes[: n + 1])) for n in range(len(sizes))]
    known = [[own for own in brackets if row + own[-1] < rows] for row in range(rows)]
    triangle = [[0] * (1 + len(known[row])) for row in range(rows)]
    everyone = {who(event) for event in history.once} - {None}
    for person in everyone:
        own = [event for event in history.once if who(event) == person]
        began = [event.at for event in own if target(event) and event.at < bounds[-1]]
        if window and not first_time:
            began = [at for at in began if at >= bounds[0]]
        began = began[: 1 if first_time or window else None]
        back = [event.at for event in own if returning(event)]
        for row in {_row(bounds, at) for at in began} - {None}:
            assert row is not None
            came = {
                ahead
                for ahead in range(1, rows - row)
                if sum(_ahead(bounds, row, began[0], at, window) == ahead for at in back)
                >= occurrences
            }
            triangle[row][0] += 1
            for place, bracket in enumerate(known[row], 1):
                until = rows if cumulative else bracket[-1] + 1
                triangle[row][place] += bool(came & set(range(bracket[0], until)))
    return triangle


def sums(
    history: History,
    bounds: Sequence[datetime],
    target: Test,
    returning: Test,
    *,
    first_time: bool,
    window: timedelta | None,
    sizes: Sequence[int],
    who: Callable[[HistoryEvent], Any],
) -> list[list[float]]:
    """Return the triangle of the sums of the property `n`, person by person."""
    rows = len(bounds) - 1
    counts = retention(history, bounds, target, returning, window=window, sizes=sizes)
    triangle = [[0.0] * len(row) for row in counts]
    places = [0, *(place for place, size in enumerate(sizes or [1] * rows, 1) for _ in range(size))]
    for person in {who(event) for event in history.once} - {None}:
        own = [event for event in history.once if who(event) == person]
        began = [event.at for event in own if target(event) and event.at < bounds[-1]]
        if not first_time:
            began = [at for at in began if at >= bounds[0]]
        if first_time or window:
            began = began[:1]
        firsts: dict[int, datetime] = {}
        for at in began:
            row = _row(bounds, at)
            if row is not None:
                firsts.setdefault(row, at)
        for row, first in firsts.items():
            for event in own:
                ahead = _ahead(bounds, row, first, event.at, window)
                number = _number(event.properties.get("n"))
                if not returning(event) or number is None or event.at < first:
                    continue
                if ahead is None or ahead >= min(len(places), rows - row):
                    continue
                if places[ahead] < len(triangle[row]):
                    triangle[row][places[ahead]] += number
    return triangle


def _number(value: object) -> float | None:
    try:
        return None if value is None else float(str(value))
    except ValueError:
        return None


def _ahead(
    bounds: Sequence[datetime], row: int, first: datetime, at: datetime, window: timedelta | None
) -> int | None:
    """Return how many intervals after a row a time lies, or how many windows after the first."""
    if window:
        return (at - first) // window
    its = _row(bounds, at)
    return None if its is None else its - row


def _row(bounds: Sequence[datetime], at: datetime) -> int | None:
    for row, (start, end) in enumerate(pairwise(bounds)):
        if start <= at < end:
            return row
    return None
