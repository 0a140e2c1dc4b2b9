"""The stored size of a person's or group's properties, and its limit."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

# Limit of the JSON of all properties of one person or group. A person usually has less than 2 KB;
# one with 13 MB was read, decoded and written again for every event that named it.
PROPERTIES_BYTES_MAX = 512 * 1024

_ABSENT = object()
_NESTED = frozenset([dict, list])

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode

Properties = Mapping[str, Any]


class SizedProperties:
    """A mixin for objects with `properties` that know their size.

    The size is measured on first use; code that reads or changes the properties sets it.
    """

    __slots__ = ("_bytes",)

    properties: dict[str, Any]
    _bytes: int | None

    @property
    def properties_bytes(self) -> int:
        """Return the size of the properties' JSON."""
        if self._bytes is None:
            self._bytes = json_bytes(self.properties)
        return self._bytes

    @properties_bytes.setter
    def properties_bytes(self, number: int) -> None:
        self._bytes = number


class ByteBudgetExceeded(Exception):
    """The properties that were read take more memory than allowed."""


class ByteBudget:
    """A limit on the bytes that may be read for one purpose."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = self._left = bytes_max

    def spend(self, size: int) -> None:
        """Take bytes from the budget; raise ByteBudgetExceeded if too few are left."""
        self._left -= size
        if self._left < 0:
            raise ByteBudgetExceeded(
                "the persons and groups that are named have more than "
                f"{self._bytes_max} bytes of properties"
            )


def json_bytes(properties: Properties) -> int:
    """Return the size of properties as stored."""
    return len(_encode(properties))


def text_bytes(text: str) -> int:
    """Return the size of stored text, equal to `json_bytes` of the properties in it."""
    return len(text) if text.isascii() else len(text.encode())


def bytes_after(
    size: int, properties: Properties, put: Properties, removed: Collection[str] = ()
) -> int:
    """Return the size after setting `put` and removing `removed`.

    The cost depends on what changes, not on what there is.

    Args:
        size: The size of `properties`.
        removed: Names of existing properties, none of them in `put`.
    """
    if not properties:
        return len(_encode(put)) if put else size
    dropped = {name: properties[name] for name in put if name in properties}
    count = len(properties) + len(put) - len(dropped) - len(removed)
    for name in removed:
        dropped[name] = properties[name]
    size += count - len(properties)  # commas
    if not count:
        size += 1
    if put:
        size += len(_encode(put)) - len(put) - 1  # without braces and commas
    if dropped:
        size -= len(_encode(dropped)) - len(dropped) - 1
    return size


def is_size_allowed(after: int, before: int, bytes_max: int = PROPERTIES_BYTES_MAX) -> bool:
    """Return whether a size is within the limit, or no larger than before."""
    return after <= bytes_max or after <= before


def fitting_properties(
    size: int, properties: Properties, offered: Properties, bytes_max: int = PROPERTIES_BYTES_MAX
) -> tuple[dict[str, Any], int]:
    """Return the offered properties that are new and fit, in their order, and the resulting size.

    Args:
        size: The size of `properties`.
    """
    new = {name: value for name, value in offered.items() if name not in properties}
    whole = bytes_after(size, properties, new)
    if not new or whole <= bytes_max:
        return new, whole
    fits: dict[str, Any] = {}
    for name, value in new.items():
        member = len(_encode({name: value})) - 1  # a comma for the braces
        if not properties and not fits:
            member -= 1
        if size + member <= bytes_max:
            fits[name] = value
            size += member
    return fits, size


def changed_properties(properties: Properties, given: Properties) -> dict[str, Any]:
    """Return the given properties that are missing, or have another value as JSON.

    Python considers True, 1 and 1.0 equal. The loop calls no function per property, because most
    events repeat what is known.
    """
    get = properties.get
    changed: dict[str, Any] = {}
    for name, value in given.items():
        old = get(name, _ABSENT)
        kind = type(value)
        if old is value or (
            kind is type(old)
            and old == value
            and (kind not in _NESTED or _encode_sorted(old) == _encode_sorted(value))
        ):
            continue
        changed[name] = value
    return changed
