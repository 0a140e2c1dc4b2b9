"""Retention: of those who did something first, how many did something later.

Source: insights.md, sections 1b, 6 and 13.
"""

from typing import Final

from fanion.insights.kind_service import ActorsKind, Kind
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.retention.query import (
    TOTAL_INTERVALS_OF_QUERIES,
    RetentionQuery,
    read_retention,
)
from fanion.insights.retention.service import (
    calculate_retention,
    find_retention_actors,
    read_retention_place,
)

_FILTER = Part(
    same_names(
        *("period", "totalIntervals", "retentionType", "targetEntity", "returningEntity"),
        *("cumulative", "minimumOccurrences", "retentionCustomBrackets", "timeWindowMode"),
        *("aggregationType", "aggregationProperty", "aggregationPropertyType"),
        "customAggregationTarget",
    ),
    DRAWN
    | {
        *("retentionReference", "meanRetentionCalculation", "showMean", "dashboardDisplay"),
        *("display", "selectedInterval"),
    },
)
RETENTION: Final = Kind(
    "RetentionQuery",
    RetentionQuery,
    read_retention,
    calculate_retention,
    form=StandardForm(
        "RETENTION",
        {"retentionFilter": _FILTER},
        defaults={"total_intervals": TOTAL_INTERVALS_OF_QUERIES},
    ),
    path="retention",
    actors=ActorsKind(
        "retention",
        read_retention_place,
        find_retention_actors,
        frozenset({"selected_interval", "returning_interval", "breakdown_value"}),
        {"interval": "selected_interval", "breakdown": "breakdown_value"},
    ),
)
