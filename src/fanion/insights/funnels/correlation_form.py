"""Translation of a FunnelCorrelationQuery into `filters`.

They are the filters of the funnel in its `source`, plus the options of the correlation.

Source: insights.md, sections 1b and 5i.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fanion.insights.parsing.fields import join_place
from fanion.insights.parsing.query_names import NODE, Part, same_names
from fanion.insights.parsing.translation import Forms, Translation, require_object
from fanion.rest.unknown_fields import no_choice, require_known

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
