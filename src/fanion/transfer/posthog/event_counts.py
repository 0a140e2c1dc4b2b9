"""The number of events that the source itself counts, to compare a copy with."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanion.transfer.posthog.client import Source, SourceError, SourceStatusError


@dataclass(frozen=True, slots=True)
class SourceCount:
    """The number of events that a source counts.

    Attributes:
        events: None if the source does not tell.
        why: The reason, one line.
    """

    events: int | None
    why: str = ""


async def count_events(source: Source, start: datetime | None, end: datetime) -> SourceCount:
    """Ask the source how many events it has in [start, end).

    SQL counts every id once, as a copy does; servers without SQL are asked for a trend.

    Args:
        start: None for all events before `end`.
    """
    why = ""
    for question, read in ((_sql(start, end), _of_rows), (_trend(start, end), _of_trend)):
        try:
            answer = await source.post(source.project_path("/query/"), {"query": question})
        except SourceStatusError as error:
            why = why or str(error)
            continue
        except SourceError as error:
            return SourceCount(None, str(error))
        count = read(answer.get("results") if isinstance(answer, dict) else None)
        if count is not None:
            return SourceCount(count)
        why = why or "the source does not return a number"
    return SourceCount(None, why)


def _sql(start: datetime | None, end: datetime) -> dict[str, Any]:
    conditions = [f"timestamp < toDateTime('{end.isoformat()}')"]
    if start is not None:
        conditions.append(f"timestamp >= toDateTime('{start.isoformat()}')")
    where = " and ".join(conditions)
    return {"kind": "HogQLQuery", "query": f"select count(distinct uuid) from events where {where}"}


def _trend(start: datetime | None, end: datetime) -> dict[str, Any]:
    since = "all" if start is None else start.isoformat()
    return {
        "kind": "TrendsQuery",
        "series": [{"kind": "EventsNode", "event": None, "math": "total"}],
        "dateRange": {"date_from": since, "date_to": end.isoformat(), "explicitDate": True},
        "trendsFilter": {"display": "BoldNumber"},
    }


def _of_rows(results: Any) -> int | None:
    match results:
        case [[int() as count]]:
            return count
    return None


def _of_trend(results: Any) -> int | None:
    match results:
        case [{"aggregated_value": int() | float() as count}]:
            return int(count)
    return None
