"""The objects in a flag's filters, with their paths, compared with the filters that are stored.

Source: flags.md sections 12 and 19, "Strictness".
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import msgspec

from fanion.errors import Invalid
from fanion.flags.engine.definition import parse_rules
from fanion.flags.engine.percentages import SET_LISTS

_encode = msgspec.json.Encoder(order="deterministic").encode


class FilterChange:
    """New filters of a flag; parts that equal a stored part are accepted unchecked.

    Attributes:
        index: The group type in the new filters, which may be any JSON.
        same_variants: Whether the variants are the stored ones.
    """

    def __init__(self, filters: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
        self._filters, self._stored = filters, stored
        self._parts = {_encode(part) for part in _parts_of_filters(stored)}
        self.index = filters.get("aggregation_group_type_index")
        self.same_variants = self._is_unchanged("multivariate")
        self._same_index = self._is_unchanged("aggregation_group_type_index")

    def has_stored(self, part: object) -> bool:
        """Return whether a condition set, condition or variant is stored, at any position."""
        return bool(self._parts) and _encode(part) in self._parts

    def is_accepted(self, part: object) -> bool:
        """Return whether a condition set or condition is stored, for the same group type."""
        return self._same_index and self.has_stored(part)

    def has_entry(self, name: str) -> bool:
        """Return whether the stored filters have the value of this name."""
        return name in self._stored and self._is_unchanged(name)

    def has_payload(self, key: str, payload: object) -> bool:
        payloads = self._stored.get("payloads")
        return isinstance(payloads, dict) and key in payloads and same_json(payloads[key], payload)

    def has_problem(self, problem: str) -> bool:
        try:
            parse_rules(self._stored)
        except ValueError as error:
            return str(error) == problem
        return False

    def _is_unchanged(self, name: str) -> bool:
        """Return whether the new filters have the stored value, or none like the stored ones."""
        return same_json(self._stored.get(name), self._filters.get(name))


@dataclass(frozen=True, slots=True)
class Part:
    """A reader of one object.

    Attributes:
        at: The path of the object, in the form of `attr`.
    """

    values: Mapping[str, Any]
    at: str

    def place(self, name: str) -> str:
        return f"{self.at}__{name}"

    def error(self, name: str, detail: str, code: str | None = None) -> Invalid:
        return Invalid(detail, code=code, attr=self.place(name))

    def required(self, name: str) -> Invalid:
        return self.error(name, "This field is required.", "required")


@dataclass(frozen=True, slots=True)
class FilterPart(Part):
    """A reader of one object in the filters of a flag."""

    change: FilterChange

    def inner(self, name: str, value: Mapping[str, Any]) -> "FilterPart":
        return FilterPart(value, self.place(name), self.change)

    def item(self, name: str, number: int, value: Mapping[str, Any]) -> "FilterPart":
        return FilterPart(value, self.place(f"{name}__{number}"), self.change)


def not_valid(why: str) -> Invalid:
    """Return the error for filters as a whole, with the text that clients compare."""
    return Invalid(f"Filters are not valid ({why})", attr="filters")


def condition_sets(filters: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Yield every condition set with its path, in the form of `attr`."""
    for name in SET_LISTS:
        for index, group in enumerate(objects_of(filters.get(name))):
            yield group, f"filters__{name}__{index}"


def conditions(group: Mapping[str, Any], at: str) -> Iterator[tuple[Mapping[str, Any], str]]:
    for index, leaf in enumerate(objects_of(group.get("properties"))):
        yield leaf, f"{at}__properties__{index}"


def objects_of(value: object) -> list[dict[str, Any]]:
    """Return the list if it contains only objects, else an empty one."""
    return value if is_list_of_objects(value) else []


def is_list_of_objects(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def same_json(value: object, other: object) -> bool:
    """Return whether two values are equal as JSON: True is not 1, and key order does not count."""
    return _encode(value) == _encode(other)


def _parts_of_filters(filters: Mapping[str, Any]) -> Iterator[Any]:
    for group, at in condition_sets(filters):
        yield group
        for leaf, _ in conditions(group, at):
            yield leaf
    multivariate = filters.get("multivariate")
    if isinstance(multivariate, dict):
        yield from objects_of(multivariate.get("variants"))
