"""The items of a capture body, their validation, and outlines of large bodies."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from msgspec import ValidationError, convert

from fanion.errors import AppError
from fanion.wire.decoding import is_utf8, parse_json
from fanion.wire.incremental_json import (
    DECODED_BYTES_MAX,
    WINDOW_BYTES,
    Kind,
    Piece,
    PullParser,
    build_container,
    parse_large_json,
)
from fanion.wire.json_outline import add_members, outline_object, outline_value

# A field that capture adds to the items of a request whose time of sending cannot be read.
UNREADABLE_SENT_AT = "$unreadable_sent_at"

INVALID = "Invalid payload: "
NOT_A_BODY = INVALID + "the body is neither an object nor an array"
NULL_ITEM = INVALID + "some events are null"
NOT_AN_OBJECT = INVALID + "an event is not an object"
BAD_PROPERTIES = INVALID + "the properties of an event are not an object"
BAD_UUID = INVALID + "the uuid of an event is not a valid UUID"


def read_items(body: bytes) -> list[dict[str, Any]]:
    """Return the items of an accepted body, as the accept log holds it, in the order sent.

    Raises:
        InvalidPayload: The body is nested too deeply for the stack on which it is read.
    """
    items = items_of(parse_json(body))
    return items if isinstance(items, list) else []


def are_named(body: bytes) -> bool:
    """Return whether each item of an accepted body has a UUID, by which a repetition is known."""
    try:
        return all(item.get("uuid") for items in iter_items(body) for item in items)
    except AppError:
        return False


def iter_items(body: bytes, bytes_max: int = DECODED_BYTES_MAX) -> Iterator[list[dict[str, Any]]]:
    """Yield the items of an accepted body in lists of at most WINDOW_BYTES of JSON, or of one item.

    Args:
        bytes_max: Memory that one item may take as Python objects.

    Raises:
        InvalidPayload: The body cannot be read.
        DecodedTooLarge: An item takes more than `bytes_max`.
    """
    if len(body) <= WINDOW_BYTES:
        yield read_items(body)
        return
    outline = outline_of(body)
    if outline.batch_at is not None:
        yield from _items_at(body, outline.batch_at, bytes_max)
    elif outline.items and outline.first is outline.top:
        yield [parse_large_json(body, bytes_max)]
    elif outline.items:
        yield outline.top["batch"]


class Skipped(msgspec.Struct, gc=False):
    """Any object; its content is skipped."""


class UsualItem(msgspec.Struct, gc=False):
    """An item whose properties are not read, to see that `fault_of` has nothing against it."""

    uuid: UUID | None = None
    properties: Skipped | None = None

    @property
    def is_usual(self) -> bool:
        return self.properties is not None or self.uuid is not None  # it may be an empty object


_decode_usual = msgspec.json.Decoder(list[UsualItem]).decode


def count_usual_items(array: bytes) -> int:
    """Return the number of items of an array, in a fifth of the time of decoding them.

    Raises:
        ValidationError: Items have to be decoded.
        DecodeError: The array is not strictly valid JSON.
    """
    items = _decode_usual(array)
    # Skipped texts have not been checked.
    if not is_utf8(array) or not all(item.is_usual for item in items):
        raise ValidationError
    return len(items)


@dataclass(slots=True)
class RequestOutline:
    """A request without the content of its items.

    Attributes:
        top: An object, reduced to the names of `_OUTLINED`; [] for an array; any other value whole.
        batch_at: Position of the array of items, if it is not contained in `top`.
        first: The first item of that array, reduced to the names of `_OUTLINED` if it is an object.
        items: Number of items.
        fault: Why the request is refused, as `fault_of` returns it; None if it is not.
        is_empty: Whether nothing was sent.
        is_clean: Whether it is strictly valid JSON.
        item_bytes: Estimated memory of the largest item as Python objects, among those that do not
            fit into a window; 0 if all do.
    """

    top: Any = None
    batch_at: int | None = None
    first: Any = None
    items: int = 0
    fault: str | None = None
    is_empty: bool = False
    is_clean: bool = True
    item_bytes: int = 0


# The fields of an object that matter for its request. Of `properties`, only its presence matters.
_OUTLINED = frozenset(
    {"$token", "token", "api_key", "project_id", "sent_at", "historical_migration"}
    | {"batch", "uuid", "properties"}
)


def outline_of(body: bytes) -> RequestOutline:
    """Read a body window by window.

    Raises:
        InvalidPayload: The body cannot be read as JSON.
    """
    pieces = PullParser(body)
    rest = iter(pieces)
    outline = RequestOutline()
    kind, value = next(rest)
    if kind is Kind.VALUE:
        outline.top, outline.is_empty = value, not value
        outline.fault = fault_of(value)
    elif isinstance(value, list):
        outline.top, outline.batch_at = [], pieces.position
        _outline_items(outline, pieces, rest)
        outline.is_empty = not outline.items
    else:
        _outline_object(outline, pieces, rest)
        if outline.batch_at is None:
            _outline_rest(outline, pieces)
    for _ in rest:
        pass
    outline.is_clean = pieces.is_clean
    return outline


def _outline_object(outline: RequestOutline, pieces: PullParser, rest: Iterator[Piece]) -> None:
    top: dict[str, Any] = {}
    outline.is_empty, key = True, ""
    for kind, value in rest:
        if kind is Kind.CLOSE:
            break
        outline.is_empty = False
        if kind is Kind.KEY:
            key = value
        elif kind is Kind.RUN:
            add_members(top, value, _OUTLINED)
            if "batch" in value:
                outline.batch_at = None
        elif kind is Kind.OPEN and key == "batch" and isinstance(value, list):
            outline.batch_at, outline.items = pieces.position, 0
            outline.first = outline.fault = None
            _outline_items(outline, pieces, rest)
            top["batch"] = []
        else:
            add_members(top, {key: outline_value(kind, key, value, rest)}, _OUTLINED)
            if key == "batch":
                outline.batch_at = None
    outline.top = top
    if outline.batch_at is not None and not outline.items:  # nothing but white space in the array
        outline.batch_at = None


def _outline_rest(outline: RequestOutline, pieces: PullParser) -> None:
    """Outline the items of an object whose batch, if any, fits into a window."""
    items = items_of(outline.top)
    if isinstance(items, list):
        outline.first, outline.items = next(iter(items), None), len(items)
        if outline.first is outline.top:  # the whole body is one item
            outline.item_bytes = pieces.cost
    outline.fault = fault_of(items)


def _outline_items(outline: RequestOutline, pieces: PullParser, rest: Iterator[Piece]) -> None:
    """Outline the items of the array that was just opened."""
    for kind, value in rest:
        if kind is Kind.CLOSE:
            return
        before = pieces.cost
        if kind is Kind.COUNTED:
            outline.items += value
            continue
        if kind is Kind.RUN:
            items = value
        elif kind is Kind.OPEN and isinstance(value, dict):
            items = [outline_object(rest, _OUTLINED)]
            outline.item_bytes = max(outline.item_bytes, pieces.cost - before)
        else:
            items = [outline_value(kind, "", value, rest)]
        if not outline.items:
            outline.first = items[0]
        outline.items += len(items)
        outline.fault = outline.fault or fault_of(items)
        pieces.count_elements(count_usual_items)


def _items_at(body: bytes, start: int, bytes_max: int) -> Iterator[list[dict[str, Any]]]:
    pieces = PullParser(body, start)
    rest = iter(pieces)
    next(rest)
    for kind, value in rest:
        if kind is Kind.RUN:
            yield value
        elif kind is Kind.CLOSE:
            return
        else:
            yield [value if kind is Kind.VALUE else build_container(pieces, rest, value, bytes_max)]


def items_of(value: Any) -> Any:
    """Return the items of a batch, an array or a single item.

    Returns:
        A list, unless `batch` is something else.

    Source: capture.md 1.6.
    """
    if isinstance(value, dict):
        return value.get("batch") or ([] if value.get("batch") == [] else [value])
    return value


def fault_of(items: Any) -> str | None:
    """Return why a request with these items is refused, or None if it is not.

    Source: capture.md 1.7.
    """
    if not isinstance(items, list):
        return NOT_AN_OBJECT
    return next((fault for fault in map(item_fault, items) if fault), None)


def item_fault(item: Any) -> str | None:
    if item is None or item == {}:
        return NULL_ITEM
    if not isinstance(item, dict):
        return NOT_AN_OBJECT
    if not isinstance(item.get("properties"), dict | None):
        return BAD_PROPERTIES
    if item.get("uuid") and parse_uuid(item["uuid"]) is None:
        return BAD_UUID
    return None


def parse_uuid(value: object) -> UUID | None:
    """Parse a UUID in any notation that Python accepts: also in braces, as a URN or without dashes.

    Returns:
        None if the value is not a UUID.
    """
    try:
        return convert(value, UUID)  # takes a third of the time of UUID(value)
    except ValidationError:
        pass
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None


# ── The elements of an autocaptured item ─────────────────────────────────────────────────

ELEMENT_TEXT_MAX = 400
HREF_MAX = 2048


def elements_chain(elements: list[Any]) -> str:
    """Return `a.small:href="/x"nth-child="1"nth-of-type="2"text="Go";div:…`, innermost first."""
    return ";".join(_element(element) for element in elements if isinstance(element, dict))


def _element(element: Mapping[str, Any]) -> str:
    attributes = {
        name: _text(value) for name, value in element.items() if name.startswith("attr__")
    }
    if text := _text(element.get("$el_text"))[:ELEMENT_TEXT_MAX]:
        attributes["text"] = text
    if href := attributes.get("attr__href"):
        attributes["href"] = href[:HREF_MAX]
    if identifier := attributes.get("attr__id"):
        attributes["attr_id"] = identifier
    for name, key in (("nth-child", "nth_child"), ("nth-of-type", "nth_of_type")):
        attributes[name] = _text(element.get(key)) or "0"
    quoted = (f'{_escape(name)}="{_escape(attributes[name])}"' for name in sorted(attributes))
    return f"{_text(element.get('tag_name'))}{_classes(element)}:{''.join(quoted)}"


def _classes(element: Mapping[str, Any]) -> str:
    given = element.get("attr__class")
    names = given if isinstance(given, list) else _text(given).split()
    return "".join(f".{name}" for name in sorted(_text(name).replace('"', "") for name in names))


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _escape(text: str) -> str:
    return text.replace('"', '\\"')
