"""The exposure criteria of an experiment: the event that exposes a unit, and its conditions.

Source: experiments.md, section 2.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from fanion.experiments.metrics.nodes import (
    ACTION_KIND,
    EVENT_CHARS_MAX,
    action_entity,
    conditions_at,
    fields_of,
    label_of,
)
from fanion.insights.entities import Entity, all_of
from fanion.insights.parsing.fields import Fields
from fanion.properties.filters import Node as Conditions
from fanion.rest.unknown_fields import no_choice, require_known

DEFAULT_EVENT: Final = "$feature_flag_called"
# A copy of the default event, which newer servers of PostHog make.
COPIED_EVENT: Final = "$experiment_exposure"
CONFIG_KIND: Final = "ExperimentEventExposureConfig"
CONFIG_KINDS: Final = (ACTION_KIND, CONFIG_KIND)

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
        entity: None for the call of the flag, whose answer is the variant. Other events have the
            variant in `$feature/<key>`.
        conditions: The conditions on the event.
        multiple_variants: The handling of units that saw several variants.
    """

    filter_test_accounts: bool = False
    entity: Entity | None = None
    conditions: Conditions | None = None
    multiple_variants: MultipleVariants = "exclude"

    @property
    def event(self) -> str | None:
        """Return the name of the event that exposes, None for any of an action."""
        return DEFAULT_EVENT if self.entity is None else self.entity.event

    @property
    def shown_event(self) -> str:
        return DEFAULT_EVENT if self.entity is None else label_of(self.entity)

    @property
    def exposing(self) -> tuple[Entity, ...]:
        """Return the events that expose, with the conditions on them."""
        calls = (Entity(DEFAULT_EVENT), Entity(COPIED_EVENT))
        return tuple(
            replace(entity, properties=all_of(entity.properties, self.conditions))
            for entity in (calls if self.entity is None else (self.entity,))
        )


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
    entity, conditions = _exposing(fields)
    return ExposureCriteria(
        fields.boolean("filterTestAccounts"),
        entity,
        conditions,
        fields.choice("multiple_variant_handling", ("exclude", "first_seen"), "exclude"),
    )


_REFUSED: Final = {
    "activation_config": "activation_config is not supported. Leave it out.",
    "freeze_exposure": "freeze_exposure is not supported. Leave it out.",
}


def _exposing(fields: Fields) -> tuple[Entity | None, Conditions | None]:
    config = fields.inner("exposure_config")
    if config is None:
        return None, None
    require_known(config.values, _CONFIG_KNOWN, config.at)
    kind = config.text("kind") or CONFIG_KIND
    if kind not in CONFIG_KINDS:
        raise no_choice(kind, CONFIG_KINDS, config.place("kind"))
    entity = action_entity(config) if kind == ACTION_KIND else Entity(_event(config))
    named = replace(entity, name=config.text("name") if kind == ACTION_KIND else None)
    conditions = conditions_at(config, "properties")
    return (None if named.event in (DEFAULT_EVENT, COPIED_EVENT) else named), conditions


def _event(config: Fields) -> str:
    event = config.text("event")
    if event is None:
        raise config.required("event")
    if len(event) > EVENT_CHARS_MAX:
        detail = f"Ensure this field has no more than {EVENT_CHARS_MAX} characters."
        raise config.error("event", detail)
    return event
