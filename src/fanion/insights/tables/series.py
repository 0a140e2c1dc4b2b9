"""Tables of answers that are numbers by interval."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fanion.insights.tables.model import AnswerTable, make_table

Entry = Mapping[str, Any]
# The numbers of a trend by weekday and hour.
_WEEK: Final = "calendar_heatmap_data"


def trends_table(results: Sequence[Entry]) -> AnswerTable:
    """Return a row for each interval, or for each series or hour of the week if there are none.

    A series of the period before stands beside the intervals of the current one.
    """
    if any(_WEEK in entry for entry in results):
        hours = [hour for entry in results for hour in entry[_WEEK]["data"]]
        rows = [(hour["row"], hour["column"], hour["value"]) for hour in hours]
        return make_table(("weekday", "hour", "value"), rows)
    if any("aggregated_value" in entry for entry in results):
        return make_table(
            ("name", "total"), [(_name(entry), entry.get("aggregated_value")) for entry in results]
        )
    current = [entry for entry in results if entry.get("compare_label") != "previous"]
    return _by_interval("time", current[0]["days"] if current else (), results, _name)


def stickiness_table(results: Sequence[Entry]) -> AnswerTable:
    """Return a row for each number of intervals."""
    return _by_interval("intervals", results[0]["days"] if results else (), results, _name)


def lifecycle_table(results: Sequence[Entry]) -> AnswerTable:
    """Return a row for each interval; persons who stay away count below zero."""
    days = results[0]["days"] if results else ()
    return _by_interval("time", days, results, lambda entry: str(entry["status"]))


def _by_interval(
    heading: str, begins: Sequence[Any], entries: Sequence[Entry], name_of: Any
) -> AnswerTable:
    columns = [entry["data"] for entry in entries]
    return make_table(
        [heading, *map(name_of, entries)],
        [
            [begin, *(column[place] if place < len(column) else None for column in columns)]
            for place, begin in enumerate(begins)
        ],
    )


def _name(entry: Entry) -> str:
    name = str(entry["label"])
    return f"{name} (previous)" if entry.get("compare_label") == "previous" else name
