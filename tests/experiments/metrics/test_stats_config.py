"""The statistical method as clients send it."""

import pytest

from fanion.errors import Invalid
from fanion.experiments.metrics.stats_config import StatsConfig, read_stats_config
from fanion.experiments.statistics.comparison import Method

NEW = {
    "method": "frequentist",
    "frequentist": {
        "alpha": 0.05,
        "difference_type": "RELATIVE",
        "sequential_testing_enabled": True,
        "sequential_tuning_parameter": 5000,
    },
    "cuped": {"enabled": False, "lookback_days": 14},
    "baseline_variant_key": "control",
}


@pytest.mark.parametrize("sent", [None, {}, NEW, {"method": None}])
def test_the_always_valid_method_is_the_default(sent: object) -> None:
    assert read_stats_config(sent) == StatsConfig()


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"method": "bayesian", "version": 2}, StatsConfig(Method("bayesian"))),
        (
            {"method": "bayesian", "bayesian": {"ci_level": 0.9}},
            StatsConfig(Method("bayesian", level=0.9)),
        ),
        (
            {"method": "frequentist", "frequentist": {"sequential_testing_enabled": False}},
            StatsConfig(Method("fixed")),
        ),
        (
            {"frequentist": {"alpha": 0.01, "difference_type": "absolute"}},
            StatsConfig(Method(alpha=0.01, is_relative=False)),
        ),
        (
            {"frequentist": {"sequential_tuning_parameter": 800}},
            StatsConfig(Method(tuning=800)),
        ),
        ({"cuped": {"enabled": True}}, StatsConfig(lookback_days=14)),
        ({"cuped": {"enabled": True, "lookback_days": 30}}, StatsConfig(lookback_days=30)),
        ({"baseline_variant_key": "a"}, StatsConfig(baseline="a")),
    ],
)
def test_methods_are_read(sent: object, expected: StatsConfig) -> None:
    assert read_stats_config(sent) == expected


@pytest.mark.parametrize(
    ("sent", "attr", "detail"),
    [
        (
            {"method": "guess"},
            "stats_config__method",
            "Invalid stats method: 'guess'. Must be one of: bayesian, frequentist",
        ),
        (
            {"methods": "bayesian"},
            "stats_config__methods",
            'Unknown field "methods". Did you mean "method"?',
        ),
        (
            {"frequentist": {"alpha": 5}},
            "stats_config__frequentist__alpha",
            "Ensure this value is between 0.0001 and 0.5.",
        ),
        (
            {"frequentist": {"sequential_testing_enabled": "yes"}},
            "stats_config__frequentist__sequential_testing_enabled",
            "Must be a valid boolean.",
        ),
        (
            {"frequentist": {"difference_type": "log"}},
            "stats_config__frequentist__difference_type",
            '"LOG" is not a valid choice. Allowed are: ABSOLUTE, RELATIVE.',
        ),
        (
            {"frequentist": {"sequential_tuning_parameter": 0}},
            "stats_config__frequentist__sequential_tuning_parameter",
            "Ensure this value is between 1 and 1000000000.",
        ),
        (
            {"bayesian": {"ci_level": 1}},
            "stats_config__bayesian__ci_level",
            "Ensure this value is between 0.5 and 0.9999.",
        ),
        (
            {"cuped": {"enabled": True, "lookback_days": 31}},
            "stats_config__cuped__lookback_days",
            "Ensure this value is between 1 and 30.",
        ),
        ("bayesian", "stats_config", "Must be a JSON object."),
    ],
)
def test_what_is_out_of_range_is_refused(sent: object, attr: str, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_stats_config(sent)

    assert (raised.value.attr, raised.value.detail) == (attr, detail)


def test_the_method_has_the_name_that_posthog_gives_it() -> None:
    assert StatsConfig().wire_method == StatsConfig(Method("fixed")).wire_method == "frequentist"
    assert StatsConfig(Method("bayesian")).wire_method == "bayesian"
