"""Stickiness: in how many intervals persons did something.

Source: insights.md, sections 1b, 7 and 13.
"""

from typing import Final

from fanion.insights.kind_service import (
    INSIGHT_ACTORS,
    NEWER_SERIES_PLACES,
    SERIES_PLACES,
    ActorsKind,
    ActorsSource,
    Kind,
    group_type_of,
)
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm
from fanion.insights.stickiness.query import StickinessQuery, read_stickiness
from fanion.insights.stickiness.service import (
    StickinessPlace,
    calculate_stickiness,
    find_stickiness_actors,
    read_stickiness_place,
)


def group_type_of_stickiness(query: StickinessQuery, place: StickinessPlace) -> int | None:
    """Return the type of the groups that the series counts, or else that of the question."""
    own = query.series[place.series].group_type_index
    return group_type_of(query, place) if own is None else own


_FILTER = Part(same_names("computedAs", "stickinessCriteria", "compare", "display"), DRAWN)
STICKINESS: Final = Kind(
    "StickinessQuery",
    StickinessQuery,
    read_stickiness,
    calculate_stickiness,
    form=StandardForm("STICKINESS", {"stickinessFilter": _FILTER}),
    path="trend",
    shown_as="Stickiness",
    actors=ActorsKind(
        "stickiness",
        read_stickiness_place,
        find_stickiness_actors,
        SERIES_PLACES | {"stickiness_days", "breakdown_value", "compare_label"},
        {**NEWER_SERIES_PLACES, "day": "stickiness_days"},
        source=ActorsSource("StickinessActorsQuery", INSIGHT_ACTORS.names),
        group_type=group_type_of_stickiness,
    ),
)
