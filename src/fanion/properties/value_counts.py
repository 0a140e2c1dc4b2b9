"""Frequent values of a property, to choose from: reading the request, counting, and the response.

The shape is PostHog's: a text or a number; booleans, objects and everything else become text. The
members of a list count individually.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from fanion.errors import Invalid

VALUES_MAX: Final = 20
KEY_CHARS_MAX: Final = 200
SEARCH_CHARS_MAX: Final = 200
# Longer values are cut, and end with an ellipsis.
VALUE_CHARS_MAX: Final = 400
ELLIPSIS: Final = "…"
# Counted members of one list.
MEMBERS_MAX: Final = 100
# Memory of the counted values; once it is full, new values are not counted.
COUNTED_BYTES_MAX: Final = 32 * 2**20

# Whether the value is a text, and its text.
Value = tuple[bool, str]


class ValueSearch(Struct, frozen=True):
    """A search for values of a property.

    Attributes:
        text: Part of the value; case does not matter, and "" matches all values.
    """

    key: str
    text: str = ""


class PropertyValue(Struct, frozen=True):
    name: Annotated[str | float, Meta(description="Booleans and objects are texts.")]
    count: int


def read_value_search(key: str | None, text: str | None) -> ValueSearch:
    """Read the key and the text of a search.

    Raises:
        Invalid: The key is missing, or one of them is too long.
    """
    if key is None:
        raise Invalid("This field is required.", code="required", attr="key")
    if not key:
        raise Invalid("This field may not be blank.", code="blank", attr="key")
    search = ValueSearch(key, text or "")
    for value, chars, attr in (
        (search.key, KEY_CHARS_MAX, "key"),
        (search.text, SEARCH_CHARS_MAX, "value"),
    ):
        if len(value) > chars:
            raise Invalid(
                f"Ensure this field has no more than {chars} characters.",
                code="max_length",
                attr=attr,
            )
    return search


def property_value(value: Value, count: int) -> PropertyValue:
    is_text, text = value
    if is_text:
        return PropertyValue(text, count)
    try:
        return PropertyValue(msgspec.json.decode(text, type=int | float), count)
    except msgspec.MsgspecError:
        return PropertyValue(text, count)


class ValueCounter:
    """A counter of the values of one property."""

    def __init__(self, search: ValueSearch) -> None:
        self._key = search.key
        self._part = search.text.lower()
        self._counts: Counter[Value] = Counter()
        self._bytes = 0

    def count_values(self, properties: str) -> None:
        """Count the values in one JSON object of properties."""
        raw = msgspec.json.decode(properties, type=dict[str, Raw]).get(self._key)
        if raw is None:
            return
        for value in _values(raw):
            if value in self._counts:
                self._counts[value] += 1
            elif self._part in value[1].lower() and self._bytes < COUNTED_BYTES_MAX:
                self._bytes += 4 * len(value[1]) + 100
                self._counts[value] = 1

    def most_frequent(self) -> list[PropertyValue]:
        """Return the most frequent values; equally frequent ones are ordered by text."""
        ordered = sorted(self._counts.items(), key=lambda pair: (-pair[1], pair[0][1]))
        return [property_value(value, count) for value, count in ordered[:VALUES_MAX]]


def _values(raw: Raw) -> Iterator[Value]:
    members: Iterable[Raw] = (raw,)
    if bytes(raw).startswith(b"["):
        members = msgspec.json.decode(raw, type=list[Raw])[:MEMBERS_MAX]
    for member in members:
        text = bytes(member).decode()
        is_text = text.startswith('"')
        if is_text:
            text = msgspec.json.decode(member, type=str)
        if text and (is_text or text != "null"):
            yield is_text, _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= VALUE_CHARS_MAX else text[:VALUE_CHARS_MAX] + ELLIPSIS
