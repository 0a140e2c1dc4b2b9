"""The answer to the question of a life cycle, as clients read it.

Source: insights.md, section 8.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fanion.insights.calculation.entity_action import entity_action
from fanion.insights.calculation.people_urls import PeopleUrls
from fanion.insights.dates.intervals import FINE, Intervals
from fanion.insights.lifecycle.query import STATUSES, LifecycleQuery, Status


def lifecycle_result(
    query: LifecycleQuery,
    intervals: Intervals,
    counts: Mapping[tuple[int, str], int],
    urls: PeopleUrls,
) -> list[dict[str, Any]]:
    """Return the four entries, one for each status.

    Args:
        counts: The number of actors by (interval from 0, status).
    """
    return [_entry(query, intervals, counts, urls, status) for status in STATUSES]


def _entry(
    query: LifecycleQuery,
    intervals: Intervals,
    counts: Mapping[tuple[int, str], int],
    urls: PeopleUrls,
    status: Status,
) -> dict[str, Any]:
    """Return the entry of a status; actors who stay away count below zero."""
    sign = -1 if status == "dormant" else 1
    places = range(len(intervals.starts))
    data = [float(sign * counts[n, status]) if (n, status) in counts else 0.0 for n in places]
    return {
        "action": entity_action(query.entity, query.entity.order),
        "label": f"{query.entity.label} - {status}",
        "status": status,
        "count": float(sum(data)),
        "data": data,
        "days": list(intervals.days),
        "labels": list(intervals.labels),
        "filter": {},
        "persons_urls": [_people(urls, status, target) for target in _targets(query, intervals)],
    }


def _targets(query: LifecycleQuery, intervals: Intervals) -> Sequence[str]:
    """Return a name for each interval: an instant for hours and minutes, as clocks repeat some."""
    if query.interval in FINE:
        return [start.isoformat() for start in intervals.starts]
    return intervals.days


def _people(urls: PeopleUrls, status: Status, target: str) -> dict[str, Any]:
    place = {"lifecycle_type": status, "target_date": target}
    return {"filter": place, "url": urls.url(**place)}
