"""Stickiness in plain Python, from the reference alone."""

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from tests.support.histories import Happening, History


def stickiness(
    history: History,
    bounds: Sequence[datetime],
    counts: Callable[[Happening], bool],
    enough: Callable[[int], bool],
    who: Callable[[Happening], Any],
) -> list[set[Any]]:
    """For each number of intervals from 1: who has the event in exactly so many.

    bounds: starts of the intervals, and the end of the last; who: None is left out
    """
    intervals = list(pairwise(bounds))
    found: list[set[Any]] = [set() for _ in intervals]
    for person in {who(one) for one in history.once} - {None}:
        times = [one.at for one in history.once if counts(one) and who(one) == person]
        inside = [sum(start <= at < end for at in times) for start, end in intervals]
        number = sum(1 for events in inside if events > 0 and enough(events))
        if number:
            found[number - 1].add(person)
    return found
