"""The parts of a flag's filters, and which of them are stored already.

source: flags.md, "Strictness": what equals what is stored is accepted unchecked
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fanion.flags.engine.definition import parse_rules

# Where condition sets stand.
SET_LISTS = ("groups", "super_groups", "holdout_groups")

_encode = msgspec.json.Encoder(order="deterministic").encode


class StoredParts:
    """The parts that the stored filters consist of."""

    def __init__(self, filters: Mapping[str, Any]) -> None:
        self._filters = filters
        self._parts = {_encode(part) for part in _parts(filters)}

    def has(self, part: object) -> bool:
        """A condition set, a condition or a variant, wherever it stood."""
        return bool(self._parts) and _encode(part) in self._parts

    def has_entry(self, name: str, value: object) -> bool:
        return name in self._filters and same(self._filters[name], value)

    def is_unchanged(self, name: str, filters: Mapping[str, Any]) -> bool:
        """Whether the new filters say the same under this name, or nothing as these."""
        return same(self._filters.get(name), filters.get(name))

    def has_payload(self, key: str, payload: object) -> bool:
        payloads = self._filters.get("payloads")
        return isinstance(payloads, dict) and key in payloads and same(payloads[key], payload)

    def has_problem(self, problem: str) -> bool:
        try:
            parse_rules(self._filters)
        except ValueError as error:
            return str(error) == problem
        return False


def condition_sets(filters: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Every condition set with its place, in the form of `attr`."""
    for name in SET_LISTS:
        for place, group in enumerate(objects_of(filters.get(name))):
            yield group, f"filters__{name}__{place}"


def conditions(group: Mapping[str, Any], at: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    for place, leaf in enumerate(objects_of(group.get("properties"))):
        yield leaf, f"{at}__properties__{place}"


def objects_of(value: object) -> list[dict[str, Any]]:
    """The objects of a list, if it is one of objects only."""
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return value
    return []


def same(one: object, other: object) -> bool:
    """As JSON, where true is not 1; the order of keys does not count."""
    return _encode(one) == _encode(other)


def _parts(filters: Mapping[str, Any]) -> Iterator[Any]:
    for group, at in condition_sets(filters):
        yield group
        for leaf, _ in conditions(group, at):
            yield leaf
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict):
        yield from objects_of(multivariate.get("variants"))
