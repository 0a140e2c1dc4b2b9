"""Tables of answers that are objects with the same fields, or rows already."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from fanion.insights.tables.model import AnswerTable, make_table

_COLUMN: Final = "context.columns."


def records_table(records: Iterable[Mapping[str, Any]], names: Sequence[str] = ()) -> AnswerTable:
    """Return a row for each object.

    Args:
        names: The fields; by default all, in the order in which they occur.
    """
    listed = list(records)
    shown = names or list(dict.fromkeys(name for record in listed for name in record))
    return make_table(shown, [[record.get(name) for name in shown] for record in listed])


def rows_table(answer: Mapping[str, Any]) -> AnswerTable:
    """Return the rows of an answer that has `columns`, and may have `types` of them."""
    types = [kind for _, kind in answer.get("types") or ()]
    return make_table(answer["columns"], answer["results"], types)


def web_table(answer: Mapping[str, Any]) -> AnswerTable:
    """Return the rows of a table of web analytics.

    A figure has a column beside it with that of the period before, if any row has one.
    """
    names = [name.removeprefix(_COLUMN) for name in answer["columns"]]
    rows = answer["results"]
    is_compared = any(pair[1] is not None for row in rows for pair in row[1:])
    columns = [f"{name}{suffix}" for name in names[1:] for suffix in _suffixes(is_compared)]
    return make_table(
        [names[0], *columns],
        [[row[0], *(one for pair in row[1:] for one in pair[: 1 + is_compared])] for row in rows],
    )


def _suffixes(is_compared: bool) -> Sequence[str]:
    return ("", "_previous") if is_compared else ("",)


def correlation_table(results: Mapping[str, Any]) -> AnswerTable:
    """Return a row for each event, property or value that goes with conversion."""
    named = [{**event, "event": event["event"]["event"]} for event in results["events"]]
    numbers = ("success_count", "failure_count", "odds_ratio", "correlation_type")
    return records_table(named, ("event", *numbers))
