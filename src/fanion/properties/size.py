"""The stored size of the properties of a person or a group, and its limit."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

# Of the JSON of all properties of one person, or of one group. A person is usually below 2 KB;
# one of 13 MB was read, decoded and written again for each event that named it.
PROPERTIES_BYTES_MAX = 512 * 1024

_ABSENT = object()
_NESTED = frozenset([dict, list])

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode

Properties = Mapping[str, Any]


class SizedProperties:
    """Mixin for objects with `properties`. Their size is measured on first use, and set by code
    that reads or changes them."""

    __slots__ = ("_bytes",)

    properties: dict[str, Any]
    _bytes: int | None

    @property
    def properties_bytes(self) -> int:
        """Of the properties' JSON."""
        if self._bytes is None:
            self._bytes = json_bytes(self.properties)
        return self._bytes

    @properties_bytes.setter
    def properties_bytes(self, number: int) -> None:
        self._bytes = number


class ByteBudgetExceeded(Exception):
    """More properties are read than may be in memory at a time."""


class ByteBudget:
    """How many bytes may be read for one purpose."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = self._left = bytes_max

    def take(self, size: int) -> None:
        """raises: ByteBudgetExceeded"""
        self._left -= size
        if self._left < 0:
            raise ByteBudgetExceeded(
                "the persons and groups that are named have more than "
                f"{self._bytes_max} bytes of properties"
            )


def json_bytes(properties: Properties) -> int:
    """Of the text that is stored."""
    return len(_encode(properties))


def text_bytes(text: str) -> int:
    """Of stored text; what `json_bytes` says of the properties in it."""
    return len(text) if text.isascii() else len(text.encode())


def bytes_after(
    size: int, properties: Properties, put: Properties, removed: Collection[str] = ()
) -> int:
    """The size when `put` is set and `removed` is gone. Costs what changes, not what there is.

    size:    of `properties`
    removed: names of properties that there are, none of them in `put`
    """
    if not properties:
        return len(_encode(put)) if put else size
    gone = {name: properties[name] for name in put if name in properties}
    count = len(properties) + len(put) - len(gone) - len(removed)
    for name in removed:
        gone[name] = properties[name]
    size += count - len(properties)  # commas
    if not count:
        size += 1
    if put:
        size += len(_encode(put)) - len(put) - 1  # without braces and commas
    if gone:
        size -= len(_encode(gone)) - len(gone) - 1
    return size


def is_size_allowed(after: int, before: int, bytes_max: int = PROPERTIES_BYTES_MAX) -> bool:
    """Whether a size is within the limit, or no larger than before."""
    return after <= bytes_max or after <= before


def fitting(
    size: int, properties: Properties, offered: Properties, bytes_max: int = PROPERTIES_BYTES_MAX
) -> tuple[dict[str, Any], int]:
    """Of the properties offered those that are new and fit, in their order, and the size with them.

    size: of `properties`
    """
    new = {name: value for name, value in offered.items() if name not in properties}
    whole = bytes_after(size, properties, new)
    if not new or whole <= bytes_max:
        return new, whole
    taken: dict[str, Any] = {}
    for name, value in new.items():
        member = len(_encode({name: value})) - 1  # a comma for the braces
        if not properties and not taken:
            member -= 1
        if size + member <= bytes_max:
            taken[name] = value
            size += member
    return taken, size


def differing(properties: Properties, given: Properties) -> dict[str, Any]:
    """Of the given ones those that are not there with this value, as JSON: Python takes True for
    1 and 1.0. Without a call for each, because most events say again what is known."""
    get = properties.get
    found: dict[str, Any] = {}
    for name, value in given.items():
        old = get(name, _ABSENT)
        kind = type(value)
        if old is value or (
            kind is type(old)
            and old == value
            and (kind not in _NESTED or _encode_sorted(old) == _encode_sorted(value))
        ):
            continue
        found[name] = value
    return found
