"""The `parameters` of an experiment, and what they make of its flag's filters.

Nothing else of the filters is touched, so that conditions, holdouts and early access survive.

Source: experiments.md sections 1a and 1b.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from fanion.errors import Invalid
from fanion.experiments.model import CALCULATOR_KEYS, CONTROL
from fanion.flags.definitions.model import variant_shares
from fanion.flags.definitions.validation.parts import is_list_of_objects, same_json
from fanion.rest.unknown_fields import require_known

VARIANTS_MAX: Final = 20
VARIANTS: Final = "feature_flag_variants"
KNOWN: Final = frozenset(
    {
        *(VARIANTS, "rollout_percentage", "aggregation_group_type_index", *CALCULATOR_KEYS),
        *("excluded_variants", "custom_exposure_filter", "feature_flag_payloads"),
        *("ensure_experience_continuity", "variant_screenshot_media_ids"),
    }
)
_OF_VARIANT: Final = frozenset({"key", "name", "rollout_percentage", "split_percent"})
_NUMBERS: Final = (
    "minimum_detectable_effect",
    "recommended_running_time",
    "recommended_sample_size",
)
_EVEN: Final = (
    {"key": CONTROL, "name": "", "rollout_percentage": 50},
    {"key": "test", "name": "", "rollout_percentage": 50},
)

Json = Mapping[str, Any]


def read_parameters(sent: Json) -> dict[str, Any]:
    """Return sent parameters with usable variants, in the form in which they are stored.

    Raises:
        Invalid: `attr` is `parameters`, or a field of it.
    """
    require_known(sent, KNOWN, "parameters")
    for name in _NUMBERS:
        _require_number(sent.get(name), name)
    _require_share(sent.get("rollout_percentage"), "rollout_percentage")
    _require_excluded(sent.get("excluded_variants"))
    if not sent.get(VARIANTS):
        return {name: value for name, value in sent.items() if name != VARIANTS}
    return {**sent, VARIANTS: _read_variants(sent[VARIANTS])}


def _read_variants(sent: object) -> list[dict[str, Any]]:
    if not is_list_of_objects(sent):
        raise _invalid("Feature flag variants must be a list of objects")
    for number, variant in enumerate(sent):
        require_known(variant, _OF_VARIANT, f"parameters__{VARIANTS}__{number}")
    require_usable([variant.get("key") for variant in sent], any_case=True)
    variants = [_variant(number, variant) for number, variant in enumerate(sent)]
    if CONTROL not in {variant["key"] for variant in variants}:
        for variant in variants:
            if variant["key"].lower() == CONTROL:
                variant["key"] = CONTROL
                break
    return variants


def require_usable(keys: Sequence[Any], *, any_case: bool = False) -> None:
    """Raise Invalid unless an experiment can run with variants that have these keys.

    Args:
        any_case: Whether `Control` is good enough.
    """
    if len(keys) > VARIANTS_MAX:
        raise _invalid(f"Feature flag variants must be less than {VARIANTS_MAX + 1}")
    if len(keys) < 2:
        raise _invalid(
            "Feature flag must have at least 2 variants (control and at least one test variant)"
        )
    for index, key in enumerate(keys):
        if not isinstance(key, str) or not key:
            raise _invalid(f"Feature flag variant at index {index} must have a 'key' field")
    if CONTROL not in ([key.lower() for key in keys] if any_case else keys):
        raise _invalid(f"Feature flag variants must contain a variant with the key '{CONTROL}'")


def is_eligible(keys: Collection[str]) -> bool:
    """Return whether an experiment can run with a flag with these variants."""
    return 2 <= len(keys) <= VARIANTS_MAX and CONTROL in keys


def _variant(index: int, sent: Json) -> dict[str, Any]:
    share = sent.get("split_percent")
    share = sent.get("rollout_percentage") if share is None else share
    if share is None:
        raise _invalid(
            f"Feature flag variant at index {index} must have a 'rollout_percentage' field"
        )
    kept = {name: value for name, value in sent.items() if name != "split_percent"}
    return {**kept, "rollout_percentage": share}


def shown_parameters(parameters: Json | None) -> dict[str, Any] | None:
    """Return stored parameters with both names of a variant's percentage."""
    if parameters is None or VARIANTS not in parameters:
        return None if parameters is None else dict(parameters)
    variants = [
        {**variant, "split_percent": variant["rollout_percentage"]}
        for variant in parameters[VARIANTS]
    ]
    return {**parameters, VARIANTS: variants}


def with_calculator(parameters: Json | None, calculated: Json | None) -> dict[str, Any] | None:
    """Return parameters with the values of `running_time_calculation`."""
    if calculated is None:
        return None if parameters is None else dict(parameters)
    require_known(calculated, CALCULATOR_KEYS, "running_time_calculation")
    return {**(parameters or {}), **calculated}


def calculator_of(parameters: Json | None) -> dict[str, Any] | None:
    """Return the keys of the parameters that `running_time_calculation` repeats."""
    names = [name for name in CALCULATOR_KEYS if name in (parameters or {})]
    return {name: (parameters or {})[name] for name in names} or None


def new_filters(parameters: Json | None) -> dict[str, Any]:
    """Return the filters of a flag that is created with an experiment."""
    given = parameters or {}
    share = given.get("rollout_percentage")
    group: Json = {"properties": [], "rollout_percentage": 100 if share is None else share}
    variants = given.get(VARIANTS) or [dict(variant) for variant in _EVEN]
    filters = {"groups": [group], "multivariate": {"variants": variants}}
    return with_parameters(filters, {**given, VARIANTS: variants})


def with_parameters(filters: Json, parameters: Json) -> dict[str, Any]:
    """Return a flag's filters with what the parameters say of it; all else is kept."""
    changed = dict(filters)
    if variants := parameters.get(VARIANTS):
        multivariate = filters.get("multivariate") or {}
        changed["multivariate"] = {**multivariate, "variants": _kept_names(filters, variants)}
    if (share := parameters.get("rollout_percentage")) is not None and filters["groups"]:
        first, *others = filters["groups"]
        changed["groups"] = [{**first, "rollout_percentage": share}, *others]
    for name, source in (
        ("aggregation_group_type_index", "aggregation_group_type_index"),
        ("payloads", "feature_flag_payloads"),
    ):
        if parameters.get(source) is not None:
            changed[name] = parameters[source]
    return changed


def _kept_names(filters: Json, variants: Sequence[Json]) -> list[dict[str, Any]]:
    """Return variants for a flag, each with what only the flag has of it, such as its name."""
    known = {variant.get("key"): variant for variant in variants_of(filters)}
    return [{**known.get(variant["key"], {}), **variant} for variant in variants]


def continuity_of(parameters: Json) -> dict[str, Any]:
    """Return the column that the parameters set, if they do: whether people keep their variant."""
    name = "ensure_experience_continuity"
    return {name: bool(parameters[name])} if name in parameters else {}


def variants_of(filters: Json) -> list[dict[str, Any]]:
    variants = (filters.get("multivariate") or {}).get("variants")
    return variants if is_list_of_objects(variants) else []


def with_holdout(filters: Json, groups: Sequence[Json] | None) -> dict[str, Any]:
    """Return a flag's filters with a holdout, or without one for None."""
    others = {name: value for name, value in filters.items() if name != "holdout_groups"}
    return others if groups is None else {**others, "holdout_groups": list(groups)}


def shipped(filters: Json, variant_key: str, *, release_to_everyone: bool) -> dict[str, Any]:
    """Return a flag's filters that give one variant to all who match.

    Args:
        variant_key: The variant.
        release_to_everyone: Whether all others get the flag too.

    Raises:
        Invalid: The flag has no such variant.
    """
    if variant_key not in variant_shares(filters):
        raise Invalid(f"Variant '{variant_key}' not found on feature flag.", attr="variant_key")
    variants = [
        {**variant, "rollout_percentage": 100 if variant["key"] == variant_key else 0}
        for variant in variants_of(filters)
    ]
    everyone = [{"properties": [], "rollout_percentage": 100}] if release_to_everyone else []
    multivariate = {**filters["multivariate"], "variants": variants}
    return {**filters, "groups": [*everyone, *filters["groups"]], "multivariate": multivariate}


def require_unchanged_variants(stored: Json | None, sent: Json, filters: Json) -> None:
    """Raise Invalid if the parameters name other variants than an experiment that was launched.

    Args:
        stored: The parameters before.
        sent: The parameters that are to replace them.
        filters: Those of the flag, which may have been edited since.
    """
    variants = sent.get(VARIANTS)
    known = [(stored or {}).get(VARIANTS) or [], variants_of(filters)]
    if variants and sorted(_keys(variants)) not in [sorted(_keys(each)) for each in known]:
        raise _invalid(f"Can't update {VARIANTS} on Experiment")


def require_unchanged_shares(stored: Json | None, sent: Json, filters: Json) -> None:
    """Raise Invalid for percentages that are neither those stored nor those of the flag.

    They change only on request, because a new split begins a new phase.
    """
    variants = sent.get(VARIANTS)
    known = [_shares((stored or {}).get(VARIANTS) or []), _shares(variants_of(filters))]
    share, rollout = sent.get("rollout_percentage"), (stored or {}).get("rollout_percentage")
    groups = filters["groups"] or [{}]
    rollouts = (None, rollout, groups[0].get("rollout_percentage"))
    if (variants and _shares(variants) not in known) or share not in rollouts:
        raise _invalid(
            "The percentages of an experiment that was launched are changed with "
            "update_feature_flag_params: true."
        )


def _keys(variants: Sequence[Json]) -> list[str]:
    return [str(variant.get("key")) for variant in variants]


def _shares(variants: Sequence[Json]) -> dict[str, Any]:
    return {str(variant.get("key")): variant.get("rollout_percentage") for variant in variants}


def same_parameters(stored: Json | None, sent: Json | None) -> bool:
    """Return whether parameters that were read are sent back, in either form."""
    return same_json(stored, sent) or same_json(shown_parameters(stored), sent)


def _require_number(value: object, name: str) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
        raise Invalid("A valid number is required.", attr=f"parameters__{name}")
    if value < 0:
        raise Invalid(
            "Ensure this value is greater than or equal to 0.",
            code="min_value",
            attr=f"parameters__{name}",
        )


def _require_share(value: object, name: str) -> None:
    _require_number(value, name)
    if isinstance(value, int | float) and value > 100:
        raise Invalid(
            f"A percentage must be between 0 and 100, not {value}.", attr=f"parameters__{name}"
        )


def _require_excluded(value: object) -> None:
    texts = value if isinstance(value, list) else [value]
    if value is not None and not all(isinstance(text, str) for text in texts):
        raise Invalid("Must be a list of strings.", attr="parameters__excluded_variants")


def _invalid(detail: str) -> Invalid:
    return Invalid(detail, attr="parameters")
