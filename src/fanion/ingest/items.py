"""The items of a capture body: which they are, and which refuse a whole request."""

from typing import Any
from uuid import UUID

from msgspec import ValidationError, convert

from fanion.wire import loads

INVALID = "Invalid payload: "
NULL_ITEM = INVALID + "some events are null"
NOT_AN_OBJECT = INVALID + "an event is not an object"
BAD_PROPERTIES = INVALID + "the properties of an event are not an object"
BAD_UUID = INVALID + "the uuid of an event is not a valid UUID"


def read_items(body: bytes) -> list[dict[str, Any]]:
    """The items of an accepted body, as it lies in the accept log, in the order sent.

    raises: InvalidPayload when it is nested too deeply for the stack it is read on
    """
    items = items_of(loads(body))
    return items if isinstance(items, list) else []


def items_of(value: Any) -> Any:
    """A batch, an array or one item; not a list when `batch` is something else.

    source: capture.md 1.6
    """
    if isinstance(value, dict):
        return value.get("batch") or ([] if value.get("batch") == [] else [value])
    return value


def fault_of(items: Any) -> str | None:
    """Why these items refuse their request, if they do. source: capture.md 1.7"""
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
    """Also in braces, as a URN or without dashes, as Python reads it."""
    try:
        return convert(value, UUID)  # a third of the price of UUID(value)
    except ValidationError:
        pass
    try:
        return UUID(value) if isinstance(value, str) else None
    except ValueError:
        return None
