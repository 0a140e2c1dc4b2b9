"""Exposure criteria as clients send them."""

import pytest

from fanion.errors import Invalid
from fanion.experiments.metrics.exposure import ExposureCriteria, read_criteria
from fanion.insights.entities import Entity


def config(**fields: object) -> dict[str, object]:
    return {"exposure_config": {"kind": "ExperimentEventExposureConfig", **fields}}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, ExposureCriteria()),
        ({}, ExposureCriteria()),
        ({"filterTestAccounts": True}, ExposureCriteria(filter_test_accounts=True)),
        (
            {"multiple_variant_handling": "first_seen"},
            ExposureCriteria(multiple_variants="first_seen"),
        ),
        (config(event="$pageview", properties=[]), ExposureCriteria(entity=Entity("$pageview"))),
        (
            {"exposure_config": {"kind": "ActionsNode", "id": 7, "name": "Signs up"}},
            ExposureCriteria(entity=Entity(action=7, name="Signs up")),
        ),
        (config(event="$feature_flag_called"), ExposureCriteria()),
        (config(event="$experiment_exposure"), ExposureCriteria()),
    ],
)
def test_criteria_are_read(sent: object, expected: ExposureCriteria) -> None:
    assert read_criteria(sent) == expected


def test_the_copy_of_the_default_event_exposes_too() -> None:
    assert ExposureCriteria().exposing == (
        Entity("$feature_flag_called"),
        Entity("$experiment_exposure"),
    )
    assert ExposureCriteria(entity=Entity("seen")).exposing == (Entity("seen"),)
    assert ExposureCriteria().shown_event == "$feature_flag_called"


@pytest.mark.parametrize(
    ("sent", "attr", "detail"),
    [
        ([], "exposure_criteria", "Must be a JSON object."),
        (
            {"filterTestAccount": True},
            "exposure_criteria__filterTestAccount",
            'Unknown field "filterTestAccount". Did you mean "filterTestAccounts"?',
        ),
        (
            {"filterTestAccounts": "maybe"},
            "exposure_criteria__filterTestAccounts",
            "Must be a valid boolean.",
        ),
        (
            {"multiple_variant_handling": "last_seen"},
            "exposure_criteria__multiple_variant_handling",
            '"last_seen" is not a valid choice. Did you mean "first_seen"?',
        ),
        (
            {"activation_config": {"event": "x"}},
            "exposure_criteria__activation_config",
            "activation_config is not supported. Leave it out.",
        ),
        (
            {"exposure_config": {"kind": "ActionsNode"}},
            "exposure_criteria__exposure_config__id",
            "This field is required.",
        ),
        (
            {"exposure_config": {"kind": "ActionsNode", "id": 1, "event": "e"}},
            "exposure_criteria__exposure_config__event",
            "An action has an id in place of an event. Leave it out.",
        ),
        (
            {"exposure_config": {"kind": "EventConfig", "event": "a"}},
            "exposure_criteria__exposure_config__kind",
            '"EventConfig" is not a valid choice. Allowed are: ActionsNode, '
            "ExperimentEventExposureConfig.",
        ),
        (config(), "exposure_criteria__exposure_config__event", "This field is required."),
        (
            config(event="e", filter=1),
            "exposure_criteria__exposure_config__filter",
            'Unknown field "filter". Allowed are: event, id, kind, name, properties, response.',
        ),
    ],
)
def test_what_cannot_be_read_is_refused(sent: object, attr: str, detail: str) -> None:
    with pytest.raises(Invalid) as raised:
        read_criteria(sent)

    assert (raised.value.attr, raised.value.detail) == (attr, detail)
