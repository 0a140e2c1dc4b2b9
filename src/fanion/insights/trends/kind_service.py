"""Trends: events, persons, sessions or a property by interval.

Source: insights.md, sections 1b, 4 and 13.
"""

from typing import Final

from fanion.insights.kind_service import (
    NEWER_SERIES_PLACES,
    SERIES_PLACES,
    ActorsKind,
    Kind,
    always,
)
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.trends.places import group_type_of_trend, read_trends_place
from fanion.insights.trends.query import TrendsQuery, read_trends
from fanion.insights.trends.service import calculate_trends, find_trends_actors

_FILTER = Part(
    {
        **same_names("display", "formula", "formulas", "smoothingIntervals", "compare"),
        "formulaNodes": "formulaNodes",
        "breakdown_histogram_bin_count": "breakdown_histogram_bin_count",
    },
    DRAWN,
)
TRENDS: Final = Kind(
    "TrendsQuery",
    TrendsQuery,
    read_trends,
    calculate_trends,
    form=StandardForm("TRENDS", {"trendsFilter": _FILTER}),
    path="trend",
    actors=ActorsKind(
        "trends",
        read_trends_place,
        find_trends_actors,
        SERIES_PLACES | {"day", "people_day", "breakdown_value", "compare_label"},
        {**NEWER_SERIES_PLACES, "day": "day", "breakdown": "breakdown_value"},
        group_type=group_type_of_trend,
    ),
    has_series=always,
)
