"""Funnels: how many reach each of some steps, and what correlates with reaching the last one.

Source: insights.md, sections 1b, 5 and 13.
"""

from typing import Final

from fanion.insights.funnels.correlation_form import CorrelationForm
from fanion.insights.funnels.correlation_service import (
    calculate_correlation,
    find_correlated_actors,
)
from fanion.insights.funnels.places import read_correlation_place, read_funnel_place
from fanion.insights.funnels.query import FunnelCorrelationQuery, FunnelsQuery
from fanion.insights.funnels.reading import read_correlation, read_funnels
from fanion.insights.funnels.service import calculate_funnels, find_funnel_actors
from fanion.insights.kind_service import ActorsKind, ActorsSource, Kind
from fanion.insights.parsing.query_names import DRAWN, Part, same_names
from fanion.insights.parsing.translation import StandardForm

_FILTER = Part(
    same_names(
        *("funnelVizType", "funnelOrderType", "funnelWindowInterval", "funnelWindowIntervalUnit"),
        *("funnelWindowDays", "funnelFromStep", "funnelToStep", "binCount", "exclusions"),
        *("breakdownAttributionType", "breakdownAttributionValue", "funnelAggregateByHogQL"),
        "customAggregationTarget",
    ),
    DRAWN
    | {
        *("funnelStepReference", "breakdownSorting", "funnelAdvanced"),
        "hideIncompleteConversionWindowPeriods",
    },
)
_PLACES: Final = {
    "funnelStep": "funnel_step",
    "funnelStepBreakdown": "funnel_step_breakdown",
    "funnelCustomSteps": "funnel_custom_steps",
    "funnelTrendsDropOff": "drop_off",
    "funnelTrendsEntrancePeriodStart": "entrance_period_start",
}
_CORRELATION_PLACES: Final = {
    "funnelCorrelationPersonEntity": "funnel_correlation_person_entity",
    "funnelCorrelationPersonConverted": "funnel_correlation_person_converted",
    "funnelCorrelationPropertyValues": "funnel_correlation_property_values",
}
FUNNELS: Final = Kind(
    "FunnelsQuery",
    FunnelsQuery,
    read_funnels,
    calculate_funnels,
    form=StandardForm("FUNNELS", {"funnelsFilter": _FILTER}),
    path="funnel",
    actors=ActorsKind(
        "funnel",
        read_funnel_place,
        find_funnel_actors,
        frozenset(_PLACES.values()),
        _PLACES,
        ActorsSource("FunnelsActorsQuery", frozenset(_PLACES)),
    ),
    has_series=lambda query: query.visualization == "trends",
)
FUNNEL_CORRELATION: Final = Kind(
    "FunnelCorrelationQuery",
    FunnelCorrelationQuery,
    read_correlation,
    calculate_correlation,
    form=CorrelationForm(),
    path="funnel/correlation",
    actors=ActorsKind(
        "funnel/correlation",
        read_correlation_place,
        find_correlated_actors,
        frozenset(_CORRELATION_PLACES.values()),
        _CORRELATION_PLACES,
        ActorsSource("FunnelCorrelationActorsQuery", frozenset(_CORRELATION_PLACES)),
    ),
)
