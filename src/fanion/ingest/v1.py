"""Capture v1, `POST /i/v1/analytics/events`: another envelope, and an answer per event."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from fanion.errors import AppError, InvalidPayload
from fanion.http import Request
from fanion.ingest.body import Capture
from fanion.ingest.items import BAD_UUID, item_fault
from fanion.ingest.timestamps import parse_sent_at
from fanion.wire import BODY_BYTES_MAX, decode_body, loads, parse_query, with_stack_to_spare

_BEARER = "Bearer "

# options and top-level fields of an event, with the properties that they stand for
_PROPERTY_OF_OPTION = {
    "process_person_profile": "$process_person_profile",
    "disable_skew_correction": "$ignore_sent_at",
    "cookieless_mode": "$cookieless_mode",
    "product_tour_id": "$product_tour_id",
}
_PROPERTY_OF_FIELD = {"session_id": "$session_id", "window_id": "$window_id"}


class Result(Struct, frozen=True, omit_defaults=True):
    """What became of one event: `ok` or `drop`, the latter with the reason in words."""

    result: str
    details: str | None = None


_OK = Result("ok")


class CaptureV1(Struct, frozen=True):
    """capture: holds only the events that are not refused; results: by event uuid"""

    capture: Capture
    results: Mapping[str, Result]


def read_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> CaptureV1:
    """raises: InvalidPayload, NoData, BodyTooLarge. source: sdk-wire.md 3.8"""
    headers = request.headers
    form = decode_body(
        request.body,
        "application/json",
        headers.get("content-encoding") or "",
        parse_query(request.query),
        bytes_max,
    )
    body = with_stack_to_spare(loads, form.json)
    batch = body.get("batch") if isinstance(body, dict) else None
    if not isinstance(batch, list):
        raise InvalidPayload("Invalid payload: the batch is not an array")
    library = _library(headers.get("posthog-sdk-info") or "")
    results: dict[str, Result] = {}
    items: list[dict[str, Any]] = []
    for item in batch:
        fault = _fault(item)
        if fault is None:
            items.append(_plain_item(item, library))
        if isinstance(item, dict) and item.get("uuid"):
            results[str(item["uuid"])] = _OK if fault is None else Result("drop", fault)
    capture = Capture(
        token=(headers.get("authorization") or "").removeprefix(_BEARER).strip(),
        project=None,
        sent_at=_sent_at(headers.get("posthog-request-timestamp") or ""),
        historical=body.get("historical_migration") is True,
        items_json=msgspec.json.encode(items),
        items=len(items),
    )
    return CaptureV1(capture, results)


def v1_answer(results: Mapping[str, Result]) -> bytes:
    return msgspec.json.encode({"results": results})


def v1_error(error: AppError) -> bytes:
    return msgspec.json.encode({"error": error.code, "error_description": error.detail})


def _fault(item: Any) -> str | None:
    if fault := item_fault(item):
        return fault
    if not item.get("event"):
        return "the event has no name"
    properties = item.get("properties") or {}
    if not (item.get("distinct_id") or properties.get("distinct_id")):
        return "the event has no distinct_id"
    return None if isinstance(item.get("uuid"), str | None) else BAD_UUID


def _plain_item(item: dict[str, Any], library: Mapping[str, str]) -> dict[str, Any]:
    """The event as other capture paths send it; what properties say already stays."""
    options = item.pop("options", None)
    given: dict[str, Any] = dict(library)
    if isinstance(options, dict):
        given.update(_renamed(options, _PROPERTY_OF_OPTION))
    given.update(_renamed(item, _PROPERTY_OF_FIELD))
    for name in _PROPERTY_OF_FIELD:
        item.pop(name, None)
    item["properties"] = given | (item.get("properties") or {})
    return item


def _renamed(source: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {name: source[key] for key, name in names.items() if source.get(key) not in (None, "")}


def _library(sdk_info: str) -> dict[str, str]:
    """`PostHog-Sdk-Info: posthog-python/7.22.0`"""
    name, _, version = sdk_info.partition("/")
    named = {"$lib": name.strip(), "$lib_version": version.strip()}
    return {key: value for key, value in named.items() if value}


def _sent_at(header: str) -> datetime | None:
    """A send time that cannot be read corrects nothing; it refuses no event."""
    try:
        return parse_sent_at(header) if header else None
    except (ValueError, OverflowError):
        return None
