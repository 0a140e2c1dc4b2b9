"""The exposure criteria of an experiment: the event that exposes a unit, and its conditions.

Source: experiments.md, section 2.
"""

from dataclasses import dataclass
from typing import Final, Literal

from fanion.experiments.metrics.nodes import EVENT_CHARS_MAX, fields_of
from fanion.insights.parsing.conditions import parse_filter
from fanion.insights.parsing.fields import Fields
from fanion.properties.filters import Node as Conditions
from fanion.rest.unknown_fields import no_choice, require_known

DEFAULT_EVENT: Final = "$feature_flag_called"
# A copy of the default event, which newer servers of PostHog make.
COPIED_EVENT: Final = "$experiment_exposure"
CONFIG_KIND: Final = "ExperimentEventExposureConfig"

MultipleVariants = Literal["exclude", "first_seen"]
_KNOWN: Final = frozenset(
    {
        *("filterTestAccounts", "exposure_config", "multiple_variant_handling"),
        *("activation_config", "freeze_exposure"),
    }
)
_CONFIG_KNOWN: Final = frozenset({"kind", "event", "properties", "name", "id", "response"})


@dataclass(frozen=True, slots=True)
class ExposureCriteria:
    """The exposure of an experiment.

    Attributes:
        event: None for the call of the flag, whose answer is the variant. Other events have the
            variant in `$feature/<key>`.
        conditions: The conditions on the event.
        multiple_variants: The handling of units that saw several variants.
    """

    filter_test_accounts: bool = False
    event: str | None = None
    conditions: Conditions | None = None
    multiple_variants: MultipleVariants = "exclude"

    @property
    def shown_event(self) -> str:
        return self.event or DEFAULT_EVENT

    @property
    def events(self) -> tuple[str, ...]:
        """Return the names of the events that expose."""
        return (DEFAULT_EVENT, COPIED_EVENT) if self.event is None else (self.event,)


def read_criteria(raw: object, attr: str = "exposure_criteria") -> ExposureCriteria:
    """Read the criteria of an experiment.

    Args:
        raw: Decoded JSON; None for the criteria that PostHog uses without any.

    Raises:
        Invalid: A value cannot be read, is unknown or cannot be calculated.
    """
    if raw is None:
        return ExposureCriteria()
    fields = fields_of(raw, attr)
    require_known(fields.values, _KNOWN, attr)
    for name, detail in _REFUSED.items():
        if fields.raw(name):
            raise fields.error(name, detail)
    event, conditions = _event(fields)
    return ExposureCriteria(
        fields.boolean("filterTestAccounts"),
        event,
        conditions,
        fields.choice("multiple_variant_handling", ("exclude", "first_seen"), "exclude"),
    )


_REFUSED: Final = {
    "activation_config": "activation_config is not supported. Leave it out.",
    "freeze_exposure": "freeze_exposure is not supported. Leave it out.",
}


def _event(fields: Fields) -> tuple[str | None, Conditions | None]:
    config = fields.inner("exposure_config")
    if config is None:
        return None, None
    require_known(config.values, _CONFIG_KNOWN, config.at)
    if config.text("kind") == "ActionsNode":
        raise config.error("kind", f"Exposures have no actions. Use {CONFIG_KIND}.")
    if (kind := config.text("kind") or CONFIG_KIND) != CONFIG_KIND:
        raise no_choice(kind, (CONFIG_KIND,), config.place("kind"))
    event = config.text("event")
    if event is None:
        raise config.required("event")
    if len(event) > EVENT_CHARS_MAX:
        detail = f"Ensure this field has no more than {EVENT_CHARS_MAX} characters."
        raise config.error("event", detail)
    conditions = parse_filter(config.raw("properties"), config.place("properties"))
    return (None if event in (DEFAULT_EVENT, COPIED_EVENT) else event), conditions
