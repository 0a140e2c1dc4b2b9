"""How large the properties of a person or a group are as stored, and how large they may become."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

# Of the JSON of all properties of one person, or of one group. A person is usually below 2 KB;
# one of 13 MB was read, decoded and written again for each event that named it.
PROPERTIES_BYTES_MAX = 512 * 1024

_ABSENT = object()

_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode

Properties = Mapping[str, Any]


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
    replaced = {name: properties[name] for name in put if name in properties}
    count = len(properties) + len(put) - len(replaced) - len(removed)
    gone = replaced | {name: properties[name] for name in removed} if removed else replaced
    commas = _commas(count) - _commas(len(properties))
    return size + _members_bytes(put) - _members_bytes(gone) + commas


def may_become(after: int, before: int, bytes_max: int = PROPERTIES_BYTES_MAX) -> bool:
    """Whether a change of the size may be made: into the limit, or where there was more than that
    already, to no more."""
    return after <= bytes_max or after <= before


def fitting(
    size: int, properties: Properties, offered: Properties, bytes_max: int = PROPERTIES_BYTES_MAX
) -> tuple[dict[str, Any], int]:
    """Of the properties offered those that are new and fit, each looked at in its order, and the
    size with them. size: of `properties`"""
    new = {name: value for name, value in offered.items() if name not in properties}
    whole = bytes_after(size, properties, new)
    if not new or whole <= bytes_max:
        return new, whole
    taken: dict[str, Any] = {}
    for name, value in new.items():
        member = _members_bytes({name: value}) + (1 if properties or taken else 0)
        if size + member <= bytes_max:
            taken[name] = value
            size += member
    return taken, size


def differing(properties: Properties, given: Properties) -> dict[str, Any]:
    """Of the given ones those that are not there with this value."""
    get = properties.get
    return {name: value for name, value in given.items() if not _is_same(get(name, _ABSENT), value)}


def _is_same(old: object, new: object) -> bool:
    """Equal as JSON: Python takes True for 1 and 1.0."""
    if type(old) is not type(new) or old != new:
        return False
    if isinstance(new, dict | list):
        return _encode_sorted(old) == _encode_sorted(new)
    return True


def _members_bytes(properties: Properties) -> int:
    """Of names, colons and values, without what stands around and between them."""
    if not properties:
        return 0
    return json_bytes(properties) - len("{}") - _commas(len(properties))


def _commas(count: int) -> int:
    return count - 1 if count else 0
