"""Life cycles in plain Python, written only from the reference."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tests.support.histories import History, HistoryEvent

STATUSES = ("new", "returning", "resurrecting", "dormant")


def lifecycle(
    history: History,
    bounds: Sequence[datetime],
    counts: Callable[[HistoryEvent], bool],
    who: Callable[[HistoryEvent], Any],
    created: Mapping[Any, datetime],
) -> dict[str, list[set[Any]]]:
    """Return the actors of each status in each interval.

    Args:
        bounds: The start of the interval before the range, the starts of those in it, and its end.
        created: When persons were created. Whoever is missing, or was created later, begins with
            the first event that is read.
    """
    before, *starts, end = bounds
    result: dict[str, list[set[Any]]] = {status: [set() for _ in starts] for status in STATUSES}
    for person in {who(event) for event in history.once} - {None}:
        times = [
            event.at
            for event in history.once
            if counts(event) and who(event) == person and before <= event.at < end
        ]
        if not times:
            continue
        began = min(created.get(person, min(times)), *times)
        for n in range(len(starts)):
            inner, outer = bounds[n + 1], bounds[n + 2]
            is_active = any(inner <= at < outer for at in times)
            was_active = any(bounds[n] <= at < inner for at in times)
            status = _status(is_active, was_active, inner <= began < outer)
            if status is not None:
                result[status][n].add(person)
    return result


def _status(is_active: bool, was_active: bool, is_created: bool) -> str | None:
    if not is_active:
        return "dormant" if was_active else None
    if is_created:
        return "new"
    return "returning" if was_active else "resurrecting"
