"""Percentages in a flag's filters, as stored and served.

Clients in typed languages read a percentage as an integer and reject `100.0`, which clients with
only floating-point numbers send.
"""

from collections.abc import Mapping
from typing import Any

# The fields that hold condition sets.
SET_LISTS = ("groups", "super_groups", "holdout_groups")
_ROLLOUT, _EXCLUSION = "rollout_percentage", "exclusion_percentage"


def whole_number(value: Any) -> Any:
    """Return a float without a fraction as an integer, and any other value as it is."""
    return int(value) if type(value) is float and value.is_integer() else value


def with_whole_percentages(filters: Any) -> Any:
    """Return the filters with every whole percentage as an integer; fractions stay fractions.

    Payloads and the values of conditions are left unchanged whatever their names, and so are
    filters that are not an object.
    """
    if not isinstance(filters, Mapping):
        return filters
    changed: dict[str, Any] = {}
    for name in SET_LISTS:
        _put_changed(changed, filters, name, _whole_sets(filters.get(name), _ROLLOUT))
    _put_changed(changed, filters, "holdout", _whole_object(filters.get("holdout"), _EXCLUSION))
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict):
        variants = _whole_sets(multivariate.get("variants"), _ROLLOUT)
        if variants is not multivariate.get("variants"):
            changed["multivariate"] = {**multivariate, "variants": variants}
    return {**filters, **changed} if changed else filters


def _put_changed(
    changed: dict[str, Any], filters: Mapping[str, Any], name: str, value: Any
) -> None:
    if value is not filters.get(name):
        changed[name] = value


def _whole_sets(given: Any, name: str) -> Any:
    """Return the list with whole percentages, or the same list if nothing changes."""
    if not isinstance(given, list):
        return given
    sets = [_whole_object(item, name) for item in given]
    return sets if any(a is not b for a, b in zip(sets, given, strict=True)) else given


def _whole_object(given: Any, name: str) -> Any:
    if not isinstance(given, dict) or name not in given:
        return given
    whole = whole_number(given[name])
    return given if whole is given[name] else {**given, name: whole}
