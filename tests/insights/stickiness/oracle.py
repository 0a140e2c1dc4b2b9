"""Stickiness in plain Python, written only from the reference."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.support.histories import History, HistoryEvent


def stickiness(
    history: History,
    bounds: Sequence[datetime],
    counts: Callable[[HistoryEvent], bool],
    enough: Callable[[int], bool],
    who: Callable[[HistoryEvent], Any],
) -> list[set[Any]]:
    """Return for each number of intervals, from 1, the actors with events in exactly so many.

    Args:
        bounds: The starts of the intervals, and the end of the last one.
        who: Returns the actor of an event, None if it is left out.
    """
    intervals = list(pairwise(bounds))
    result: list[set[Any]] = [set() for _ in intervals]
    for person in {who(event) for event in history.once} - {None}:
        times = [event.at for event in history.once if counts(event) and who(event) == person]
        inside = [sum(start <= at < end for at in times) for start, end in intervals]
        number = sum(1 for events in inside if events > 0 and enough(events))
        if number:
            result[number - 1].add(person)
    return result
