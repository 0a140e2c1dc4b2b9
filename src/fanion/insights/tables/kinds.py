"""The table of an answer, by the kind of its question."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from fanion.insights.tables.flows import funnels_table, paths_table, retention_table
from fanion.insights.tables.model import AnswerTable, make_table
from fanion.insights.tables.records import (
    correlation_table,
    records_table,
    rows_table,
    web_table,
)
from fanion.insights.tables.series import lifecycle_table, stickiness_table, trends_table

Answer = Mapping[str, Any]
# What a funnel's answer does not tell, beside what it does.
OPTIONAL: Final = "optional steps"
_EXPOSED: Final = ("time", "variant", "exposures")


def _points_table(answer: Answer) -> AnswerTable:
    """Return a row for each interval, with a comparison each figure beside the previous one."""
    results = answer["results"]
    names = results[0]["metrics"] if results else {}
    rows = [[point["bucket"], *point["metrics"].values()] for point in results]
    if any(isinstance(value, list) for row in rows for value in row):
        return web_table({"columns": ["time", *names], "results": rows})
    return make_table(["time", *names], rows)


def _metric_table(answer: Answer) -> AnswerTable:
    """Return a row for each variant of an experiment, of which the first is the control."""
    results = answer["results"]
    baseline = [] if results["baseline"] is None else [results["baseline"]]
    return records_table([*baseline, *results["variant_results"]])


def _exposures_table(answer: Answer) -> AnswerTable:
    rows = [
        (day, line["variant"], number)
        for line in answer["results"]["timeseries"]
        for day, number in zip(line["days"], line["exposure_counts"], strict=True)
    ]
    return make_table(_EXPOSED, rows)


def _schema_table(answer: Answer) -> AnswerTable:
    rows = [
        (table, field["name"], field["type"])
        for table, own in answer["tables"].items()
        for field in own["fields"].values()
    ]
    return make_table(("table", "field", "type"), rows)


TABLES: Final[Mapping[str, Callable[[Answer], AnswerTable]]] = {
    "TrendsQuery": lambda answer: trends_table(answer["results"]),
    "FunnelsQuery": lambda answer: funnels_table(answer["results"], answer[OPTIONAL]),
    "RetentionQuery": lambda answer: retention_table(answer["results"]),
    "StickinessQuery": lambda answer: stickiness_table(answer["results"]),
    "LifecycleQuery": lambda answer: lifecycle_table(answer["results"]),
    "PathsQuery": paths_table,
    "FunnelCorrelationQuery": lambda answer: correlation_table(answer["results"]),
    "WebOverviewQuery": lambda answer: records_table(answer["results"]),
    "WebStatsTableQuery": web_table,
    "WebGoalsQuery": web_table,
    "WebTrendsQuery": _points_table,
    "WebExternalClicksTableQuery": web_table,
    "ActorsQuery": rows_table,
    "HogQLQuery": rows_table,
    "EventsQuery": rows_table,
    "DatabaseSchemaQuery": _schema_table,
    "ExperimentQuery": _metric_table,
    "ExperimentExposureQuery": _exposures_table,
}


def table_of(kind: str, answer: Answer, optional_steps: Collection[int] = ()) -> AnswerTable:
    """Return the table of an answer with `results` and what its kind has beside them.

    Args:
        kind: The `kind` of the query.
        optional_steps: The places of the optional steps of a funnel.
    """
    return TABLES[kind]({**answer, OPTIONAL: optional_steps})
