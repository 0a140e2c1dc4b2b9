"""The answer to a question of stickiness, as clients read it.

Source: insights.md, section 7.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fanion.insights.calculation.entity_action import entity_action
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.dates.intervals import DateRange, Intervals
from fanion.insights.stickiness.query import StickinessQuery


def stickiness_entry(
    query: StickinessQuery,
    order: int,
    intervals: Intervals,
    counts: Iterable[tuple[int, int]],
    urls: PeopleUrls,
    *,
    before: DateRange | None = None,
) -> dict[str, Any]:
    """Return the entry of one series.

    Args:
        counts: Pairs (number of intervals, actors with exactly that many).
        before: The previous range, if the entry is about it.
    """
    exactly = dict(counts)
    numbers = range(1, len(intervals.starts) + 1)
    entity = query.series[order].entity
    entry: dict[str, Any] = {
        "action": entity_action(entity, order),
        "label": entity.label,
        "count": sum(exactly.values()),
        "data": _data(exactly, numbers, cumulative=query.cumulative),
        "days": list(numbers),
        "labels": [_label(query, number) for number in numbers],
        "filter": {},
        "persons_urls": [_people(urls, order, number, before) for number in numbers],
    }
    if query.compare:
        entry |= {"compare": True, "compare_label": "previous" if before else "current"}
    return entry


def _data(exactly: Mapping[int, int], numbers: range, *, cumulative: bool) -> list[int]:
    data = [exactly.get(number, 0) for number in numbers]
    return [sum(data[index:]) for index in range(len(data))] if cumulative else data


def _label(query: StickinessQuery, number: int) -> str:
    text = f"{number} {query.interval}{'' if number == 1 else 's'}"
    return f"{text} or more" if query.cumulative else text


def _people(urls: PeopleUrls, order: int, number: int, before: DateRange | None) -> dict[str, Any]:
    place: dict[str, Any] = {"stickiness_days": number, "entity_order": order}
    if before is not None:
        place |= {
            "date_from": before.start.isoformat(),
            "date_to": before.end.isoformat(),
            "explicit_date": True,
        }
    return {"filter": place, "url": urls.url(**place)}
