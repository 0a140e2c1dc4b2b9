"""Paths, calculated in the event store: which step follows which.

Source: insights.md, sections 1b, 9 and 13.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any, Final

from fanion.insights.calculation.kind_service import ActorsKind, Kind
from fanion.insights.calculation.service import Calculation
from fanion.insights.parsing.fields import Fields
from fanion.insights.parsing.path_cleaning import project_cleaning
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.paths.query import NAME_CHARS_MAX, PathsQuery, read_paths
from fanion.insights.paths.result import OTHER, paths_result, shown_targets, step_key
from fanion.insights.paths.sql import (
    EdgePlace,
    EndPlace,
    PathsRange,
    actors_statement,
    paths_statement,
)
from fanion.insights.sql.compiler import Statement


@dataclass(frozen=True, slots=True)
class PathsPlace:
    """The place of a number: an edge, the edges from or to a step, or the paths that end there."""

    place: EdgePlace | EndPlace


async def calculate_paths(calculation: Calculation, query: PathsQuery) -> dict[str, Any]:
    """Return the edges as `results`, with `nodes` and `other_edges`."""
    rows = await calculation.rows(paths_statement(_paths_range(calculation, query)))
    numbered_rows = [(int(row[0]), *row[1:]) for row in rows]
    return await asyncio.to_thread(paths_result, numbered_rows)


def read_paths_place(fields: Fields, query: PathsQuery) -> PathsPlace:
    last = _key(fields, "path_dropoff_key", query)
    if last is not None:
        return PathsPlace(EndPlace(last))
    source, target = (_key(fields, f"path_{end}_key", query) for end in ("start", "end"))
    if source is None and target is None:
        raise fields.error("path_start_key", "Name the step that paths come from or lead to.")
    if source is not None and target is not None and target[0] != source[0] + 1:
        raise fields.error("path_end_key", "Name a step that follows path_start_key.")
    if target is not None and target[1] == OTHER and source is None:
        raise fields.error("path_start_key", "Name the step that these paths come from.")
    return PathsPlace(EdgePlace(source, target))


async def find_paths_actors(
    calculation: Calculation, query: PathsQuery, place: PathsPlace
) -> Statement:
    """Return the statement of the actors, each with the number of its paths."""
    where = place.place
    if isinstance(where, EdgePlace) and where.source and where.target and where.target[1] == OTHER:
        answer = await calculate_paths(calculation, query)
        shown = shown_targets(answer, step_key(*where.source))
        where = replace(where, target=None, not_to=shown)
    return actors_statement(_paths_range(calculation, query), where)


def _key(fields: Fields, name: str, query: PathsQuery) -> tuple[int, str] | None:
    """Parse the key of a step: `2_/docs` is the second step, `/docs`."""
    text = fields.text(name)
    if text is None:
        return None
    number, _, step = text.partition("_")
    if not (number.isascii() and number.isdecimal() and len(number) < 3 and "_" in text):
        raise fields.error(name, "Name a step with its number, such as 2_/docs.")
    if not 1 <= int(number) <= query.step_limit + 1 or len(step) > NAME_CHARS_MAX:
        raise fields.error(name, "There is no such step.")
    return int(number), step


def _paths_range(calculation: Calculation, query: PathsQuery) -> PathsRange:
    stored = calculation.project.path_cleaning_filters if query.replacements else ()
    cleaning = (*project_cleaning(stored), *query.cleaning)
    span = query.span(calculation.clock)
    return PathsRange(calculation.context, query, span, calculation.clock, cleaning)


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
