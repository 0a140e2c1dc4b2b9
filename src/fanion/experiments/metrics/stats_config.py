"""The statistical method of an experiment, by PostHog's names.

Source: experiments.md, section 4b.
"""

from dataclasses import dataclass
from typing import Final, Literal

from fanion.experiments.metrics.nodes import fields_of, number
from fanion.experiments.statistics.comparison import Method
from fanion.experiments.statistics.sequential import TUNING_DEFAULT
from fanion.insights.parsing.fields import Fields
from fanion.rest.unknown_fields import require_known

METHODS: Final = ("bayesian", "frequentist")
ALWAYS_VALID: Final = Method()
DifferenceType = Literal["RELATIVE", "ABSOLUTE"]
_DIFFERENCES: Final[tuple[DifferenceType, ...]] = ("RELATIVE", "ABSOLUTE")
BASELINE: Final = "control"
LOOKBACK_DAYS: Final = 14
LOOKBACK_DAYS_MAX: Final = 30
_TUNING_MAX: Final = 10**9
_KNOWN: Final = frozenset(
    {
        *("method", "frequentist", "bayesian", "cuped", "baseline_variant_key", "version"),
        *("timeseries", "use_new_query_builder", "migrated_from_legacy"),
    }
)
_FREQUENTIST: Final = frozenset(
    {
        *("alpha", "difference_type", "test_type", "sequential_testing_enabled"),
        "sequential_tuning_parameter",
    }
)
_BAYESIAN: Final = frozenset({"ci_level", "difference_type", "inverse", "prior_type", "proper"})
_CUPED: Final = frozenset({"enabled", "lookback_days"})


@dataclass(frozen=True, slots=True)
class StatsConfig:
    """How variants are compared.

    Attributes:
        lookback_days: The days before the first exposure that adjust values (CUPED); None for
            values as they are.
    """

    method: Method = ALWAYS_VALID
    lookback_days: int | None = None
    baseline: str = BASELINE

    @property
    def wire_method(self) -> str:
        return "bayesian" if self.method.name == "bayesian" else "frequentist"


def read_stats_config(raw: object, attr: str = "stats_config") -> StatsConfig:
    """Read the method of an experiment.

    Args:
        raw: Decoded JSON; None or an empty object for the default.

    Raises:
        Invalid: A value is unknown or out of range.
    """
    if raw is None:
        return StatsConfig()
    fields = fields_of(raw, attr)
    require_known(fields.values, _KNOWN, attr)
    sent = fields.raw("method")
    if sent is not None and sent not in METHODS:
        detail = f"Invalid stats method: '{sent}'. Must be one of: {', '.join(METHODS)}"
        raise fields.error("method", detail)
    frequentist, bayesian = _frequentist(fields), _bayesian(fields)
    return StatsConfig(
        bayesian if sent == "bayesian" else frequentist,
        _lookback(fields),
        fields.text("baseline_variant_key") or BASELINE,
    )


def _frequentist(fields: Fields) -> Method:
    own = fields.inner("frequentist")
    if own is None:
        return ALWAYS_VALID
    require_known(own.values, _FREQUENTIST, own.at)
    is_sequential = own.raw("sequential_testing_enabled")
    if is_sequential not in (None, True, False):
        raise own.error("sequential_testing_enabled", "Must be a valid boolean.")
    own.choice("test_type", ("two_sided",), "two_sided")
    return Method(
        "fixed" if is_sequential is False else "sequential",
        number(own, "alpha", 0.0001, 0.5) or 0.05,
        own.whole("sequential_tuning_parameter", 1, _TUNING_MAX) or TUNING_DEFAULT,
        is_relative=_is_relative(own),
    )


def _bayesian(fields: Fields) -> Method:
    own = fields.inner("bayesian")
    if own is None:
        return Method("bayesian")
    require_known(own.values, _BAYESIAN, own.at)
    level = number(own, "ci_level", 0.5, 0.9999) or 0.95
    return Method("bayesian", level=level, is_relative=_is_relative(own))


def _is_relative(fields: Fields) -> bool:
    sent = fields.raw("difference_type")
    value = sent.upper() if isinstance(sent, str) else sent
    own = Fields({"difference_type": value}, at=fields.at)
    return own.choice("difference_type", _DIFFERENCES, "RELATIVE") == "RELATIVE"


def _lookback(fields: Fields) -> int | None:
    own = fields.inner("cuped")
    if own is None:
        return None
    require_known(own.values, _CUPED, own.at)
    days = own.whole("lookback_days", 1, LOOKBACK_DAYS_MAX) or LOOKBACK_DAYS
    return days if own.boolean("enabled") else None
