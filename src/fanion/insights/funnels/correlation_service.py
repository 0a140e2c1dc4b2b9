"""Calculation of what correlates with reaching the last step of a funnel.

Source: insights.md, sections 1b, 5i and 13.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from fanion.insights.calculation.kind_service import ActorsKind, ActorsSource, Kind
from fanion.insights.calculation.service import Calculation
from fanion.insights.funnels.correlation_sql import CorrelationSql, correlated, correlated_actors
from fanion.insights.funnels.places import CorrelationPlace, read_correlation_place
from fanion.insights.funnels.query import FunnelCorrelationQuery, read_correlation
from fanion.insights.funnels.service import funnel_sql
from fanion.insights.funnels.sql import step_counts
from fanion.insights.parsing.fields import join_place
from fanion.insights.parsing.query_names import NODE, Part, same_names
from fanion.insights.parsing.translation import Forms, Translation, require_object
from fanion.insights.sql.compiler import Statement
from fanion.rest.unknown_fields import no_choice, require_known

# If successes and failures differ by a larger factor, the odds say nothing.
SKEW_MAX: Final = 10


async def calculate_correlation(
    calculation: Calculation, query: FunnelCorrelationQuery
) -> dict[str, Any]:
    funnel = funnel_sql(calculation, replace(query.funnel, scope=query.scope))
    rows = await calculation.rows(step_counts(funnel, 1))
    size = len(query.funnel.required_steps)
    successes = int(rows[0][size]) if rows else 0
    failures = int(rows[0][1]) - successes if rows else 0
    if is_skewed(successes, failures):
        return {"events": [], "skewed": True}
    statement = correlated(CorrelationSql(funnel, query), successes, failures)
    event_rows = await calculation.rows(statement)
    return {"events": [_event(*row) for row in event_rows], "skewed": False}


async def find_correlated_actors(
    calculation: Calculation, query: FunnelCorrelationQuery, place: CorrelationPlace
) -> Statement:
    """Return the statement of the actors, each with the number of steps that it reached."""
    funnel = funnel_sql(calculation, replace(query.funnel, scope=query.scope))
    return correlated_actors(CorrelationSql(funnel, query), place.name, converted=place.converted)


def is_skewed(successes: int, failures: int) -> bool:
    least, most = sorted((successes, failures))
    return least == 0 or most > least * SKEW_MAX


def _event(name: str, success: int, failure: int, odds: float) -> dict[str, Any]:
    return {
        "event": {"event": name, "properties": {}, "elements": []},
        "success_count": success,
        "failure_count": failure,
        "odds_ratio": odds,
        "correlation_type": "success" if odds > 1 else "failure",
    }


_OWN: Final = Part(
    same_names(
        *("funnelCorrelationType", "funnelCorrelationNames", "funnelCorrelationExcludeNames"),
        *("funnelCorrelationEventNames", "funnelCorrelationExcludeEventNames"),
        "funnelCorrelationEventExcludePropertyNames",
    )
)
_NAMES: Final = NODE.union(_OWN.known, {"source", "modifiers"})
_ACTORS: Final = "FunnelsActorsQuery"
_ACTORS_NAMES: Final = NODE | {
    *("source", "funnelStep", "funnelStepBreakdown", "funnelCustomSteps", "includeRecordings"),
    *("funnelTrendsDropOff", "funnelTrendsEntrancePeriodStart", "modifiers"),
}


@dataclass(frozen=True, slots=True)
class CorrelationForm:
    """The translation of a FunnelCorrelationQuery into `filters`.

    They are the filters of the funnel in its `source`, plus the options of the correlation.
    """

    insight: str = "FUNNELS_CORRELATION"

    def translated(self, sent: Mapping[str, Any], at: str, forms: Forms) -> Translation:
        require_known(sent, _NAMES, at)
        translation = forms.translated(*_funnel(sent.get("source"), join_place(at, "source")))
        own = {name: sent[name] for name in sent if _OWN.filter_name(name)}
        translation.put_part(_OWN, own, at, forms)
        translation.put("insight", self.insight, join_place(at, "kind"))
        return translation


def _funnel(source: object, at: str) -> tuple[Mapping[str, Any], str]:
    """Return the funnel's query, which may be inside a query for its persons, and its place."""
    sent = require_object(source, at)
    if sent.get("kind") == _ACTORS:
        require_known(sent, _ACTORS_NAMES, at)
        at = join_place(at, "source")
        sent = require_object(sent.get("source"), at)
    if sent.get("kind") != "FunnelsQuery":
        raise no_choice(sent.get("kind"), ("FunnelsQuery",), join_place(at, "kind"))
    return sent, at


_PLACES: Final = {
    "funnelCorrelationPersonEntity": "funnel_correlation_person_entity",
    "funnelCorrelationPersonConverted": "funnel_correlation_person_converted",
    "funnelCorrelationPropertyValues": "funnel_correlation_property_values",
}
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
        frozenset(_PLACES.values()),
        _PLACES,
        ActorsSource("FunnelCorrelationActorsQuery", frozenset(_PLACES)),
    ),
)
