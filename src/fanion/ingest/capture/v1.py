"""Capture v1, `POST /i/v1/analytics/events`: another envelope, and a result per event."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fanion.errors import AppError, InvalidPayload
from fanion.ingest.capture.parsing import MARK_BYTES_MAX, Capture, mark_unreadable
from fanion.ingest.items import BAD_UUID, item_fault, iter_items, outline_of
from fanion.ingest.timestamps import SentAt, read_sent_at
from fanion.projects.auth.keys import bearer_key
from fanion.server.request import Request
from fanion.wire.decoding import (
    BODY_BYTES_MAX,
    DecodedForm,
    decode_body,
    decode_small,
    loads,
    parse_query,
    with_stack_to_spare,
)

# Of one event in the response, without its uuid, which the request contains as well.
RESULT_BYTES = 100
_ANSWER_START = b'{"results":{'
# Added to each event of a batch; names and versions of libraries are a tenth of this.
SDK_INFO_CHARS_MAX = 200

_JSON = "application/json"

# options and top-level fields of an event, with the properties that they stand for
_PROPERTY_OF_OPTION = {
    "process_person_profile": "$process_person_profile",
    "disable_skew_correction": "$ignore_sent_at",
    "cookieless_mode": "$cookieless_mode",
    "product_tour_id": "$product_tour_id",
}
_PROPERTY_OF_FIELD = {"session_id": "$session_id", "window_id": "$window_id"}


class Result(Struct, frozen=True, omit_defaults=True):
    """The result of one event: `ok`, or `drop` with the reason as text."""

    result: str
    details: str | None = None


_OK = Result("ok")


class CaptureV1(Struct, frozen=True):
    """capture: only the events that are not dropped; results: by event uuid"""

    capture: Capture
    results: Mapping[str, Result]


class LargeV1(Struct, frozen=True):
    """bytes_to_read: estimate for reading the items, in addition to the body and a window"""

    json: bytes
    historical: bool
    bytes_to_read: int


def read_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> CaptureV1:
    """Read a request of any size. raises: InvalidPayload, NoData, BodyTooLarge.

    source: sdk-wire.md 3.8
    """
    return _read_form(request, _decode_form(request, bytes_max))


def read_small_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> CaptureV1 | None:
    """As `read_v1`, on the event loop; None for bodies that may take longer."""
    encoding = request.headers.get("content-encoding") or ""
    query = parse_query(request.query)
    form = decode_small(request.body, _JSON, encoding, query, bytes_max)
    return None if form is None else _read_form(request, form)


def read_large_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> LargeV1:
    """Everything but the items, window by window. raises: as `read_v1`"""
    raw = _decode_form(request, bytes_max).json
    outline = outline_of(raw)
    _require_batch(outline.top)
    is_historical = outline.top.get("historical_migration") is True
    bytes_per_item = RESULT_BYTES + (MARK_BYTES_MAX if _sent_at(request).unreadable else 0)
    return LargeV1(raw, is_historical, outline.item_bytes + bytes_per_item * outline.items)


def read_items_v1(request: Request, large: LargeV1) -> tuple[Capture, bytes]:
    """The capture and the response body. raises: DecodedTooLarge for an item"""
    items_json, results_json, count = bytearray(), bytearray(), 0
    library, sent_at = _library_of(request), _sent_at(request)
    for batch in iter_items(large.json):
        items, results = _read_items(batch, library)
        mark_unreadable(items, sent_at)
        count += len(items)
        _add(items_json, msgspec.json.encode(items)[1:-1])
        _add(results_json, msgspec.json.encode(results)[1:-1])
    capture = _capture(request, large.historical, b"[" + items_json + b"]", count)
    return capture, _ANSWER_START + results_json + b"}}"


def _add(written: bytearray, members: bytes) -> None:
    if members:
        if written:
            written += b","
        written += members


def _decode_form(request: Request, bytes_max: int) -> DecodedForm:
    encoding = request.headers.get("content-encoding") or ""
    return decode_body(request.body, _JSON, encoding, parse_query(request.query), bytes_max)


def _read_form(request: Request, form: DecodedForm) -> CaptureV1:
    body = with_stack_to_spare(loads, form.json)
    batch = _require_batch(body)
    items, results = _read_items(batch, _library_of(request))
    mark_unreadable(items, _sent_at(request))
    is_historical = body.get("historical_migration") is True
    capture = _capture(request, is_historical, msgspec.json.encode(items), len(items))
    return CaptureV1(capture, results)


def _require_batch(body: Any) -> list[Any]:
    batch = body.get("batch") if isinstance(body, dict) else None
    if not isinstance(batch, list):
        raise InvalidPayload("Invalid payload: the batch is not an array")
    return batch


def _read_items(
    batch: Iterable[Any], library: Mapping[str, str]
) -> tuple[list[dict[str, Any]], dict[str, Result]]:
    """The items that are not dropped, and the result of each."""
    results: dict[str, Result] = {}
    items: list[dict[str, Any]] = []
    for item in batch:
        fault = _fault(item)
        if fault is None:
            items.append(_plain_item(item, library))
        if isinstance(item, dict) and item.get("uuid"):
            results[str(item["uuid"])] = _OK if fault is None else Result("drop", fault)
    return items, results


def _capture(request: Request, is_historical: bool, items_json: bytes, items: int) -> Capture:
    return Capture(
        token=bearer_token(request),
        project=None,
        sent_at=_sent_at(request),
        historical=is_historical,
        items_json=items_json,
        items=items,
    )


def _sent_at(request: Request) -> SentAt:
    return read_sent_at(request.headers.get("posthog-request-timestamp"))


def bearer_token(request: Request) -> str:
    """ "" if there is none; a key without a scheme is accepted too"""
    given: str = (request.headers.get("authorization") or "").strip()
    names_a_scheme = " " in given or given.lower() == "bearer"
    return bearer_key(given) or ("" if names_a_scheme else given)


def v1_answer(results: Mapping[str, Result]) -> bytes:
    return msgspec.json.encode({"results": results})


def v1_error(error: AppError) -> bytes:
    """The common error body with the additional fields that clients of this protocol read."""
    own = {"error": error.code, "error_description": error.detail}
    return msgspec.json.encode({**error.fields(), **own})


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
    """The event as other capture paths send it; existing properties win."""
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


def _library_of(request: Request) -> dict[str, str]:
    """`PostHog-Sdk-Info: posthog-python/7.22.0`"""
    sdk_info: str = request.headers.get("posthog-sdk-info") or ""
    name, _, version = sdk_info[:SDK_INFO_CHARS_MAX].partition("/")
    named = {"$lib": name.strip(), "$lib_version": version.strip()}
    return {key: value for key, value in named.items() if value}
