"""Paths: which step follows which.

Source: insights.md, sections 1b, 9 and 13.
"""

from typing import Final

from fanion.insights.kind_service import ActorsKind, Kind
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.paths.query import PathsQuery, read_paths
from fanion.insights.paths.service import calculate_paths, find_paths_actors, read_paths_place

_FILTER = Part(
    {
        **same_names(
            *("includeEventTypes", "startPoint", "endPoint", "pathGroupings", "excludeEvents"),
            *("stepLimit", "pathReplacements", "localPathCleaningFilters", "edgeLimit"),
            *("minEdgeWeight", "maxEdgeWeight", "pathStartKey", "pathEndKey", "pathDropoffKey"),
        ),
        "pathsHogQLExpression": "paths_hogql_expression",
    },
    DRAWN | {"showFullUrls"},
)
_OF_FUNNEL = Part(
    {
        "funnelPathType": "funnel_paths",
        "funnelSource": "funnel_filter",
        "funnelStep": "funnel_step",
        "funnel_filter": "funnel_filter",
        "funnel_paths": "funnel_paths",
    }
)
PATHS: Final = Kind(
    "PathsQuery",
    PathsQuery,
    read_paths,
    calculate_paths,
    form=StandardForm("PATHS", {"pathsFilter": _FILTER, "funnelPathsFilter": _OF_FUNNEL}),
    path="path",
    actors=ActorsKind(
        "path",
        read_paths_place,
        find_paths_actors,
        frozenset({"path_start_key", "path_end_key", "path_dropoff_key"}),
    ),
)
