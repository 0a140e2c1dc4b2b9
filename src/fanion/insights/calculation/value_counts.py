"""How many values of a breakdown an answer shows, and how many there are."""

from collections.abc import Sequence
from typing import Any

from fanion.insights.breakdowns import Breakdowns


def with_value_counts(
    results: Any, breakdowns: Breakdowns | None, totals: Sequence[int | None]
) -> Any:
    """Return results with the counts of values beside them; without a breakdown as they are.

    Args:
        totals: The number of all values for each series or formula; None if it is not known.
    """
    if breakdowns is None:
        return results
    counts = [_value_counts(breakdowns, total) for total in totals]
    has_more = any(count["shown"] != count["total"] for count in counts)
    return {"results": results, "hasMore": has_more, "breakdown_values": counts}


def _value_counts(breakdowns: Breakdowns, total: int | None) -> dict[str, int | None]:
    if breakdowns.are_cohorts:  # each has an entry, also without events
        total = len(breakdowns.parts)
        return {"shown": total, "total": total}
    shown = breakdowns.limit if total is None else min(breakdowns.limit, total)
    return {"shown": shown, "total": total}
