"""Life cycles: who is new, comes back, or stays away.

Source: insights.md, sections 1b, 8 and 13.
"""

from typing import Final

from fanion.insights.kind_service import SERIES_PLACES, ActorsKind, Kind, always
from fanion.insights.lifecycle.query import LifecycleQuery, read_lifecycle
from fanion.insights.lifecycle.service import (
    calculate_lifecycle,
    find_lifecycle_actors,
    read_lifecycle_place,
)
from fanion.insights.parsing.query_names import DRAWN, Part
from fanion.insights.parsing.translation import StandardForm

_FILTER = Part({}, DRAWN | {"toggledLifecycles"})
LIFECYCLE: Final = Kind(
    "LifecycleQuery",
    LifecycleQuery,
    read_lifecycle,
    calculate_lifecycle,
    form=StandardForm("LIFECYCLE", {"lifecycleFilter": _FILTER}),
    path="trend",
    shown_as="Lifecycle",
    actors=ActorsKind(
        "lifecycle",
        read_lifecycle_place,
        find_lifecycle_actors,
        SERIES_PLACES | {"target_date", "lifecycle_type", "breakdown_value"},
        {"day": "target_date", "status": "lifecycle_type"},
    ),
    has_series=always,
)
