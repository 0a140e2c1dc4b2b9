"""Capture v1, `POST /i/v1/analytics/events`, with its own envelope and a result for each event."""

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
    parse_json,
    parse_query,
    with_stack_to_spare,
)

# The size of one event's result in the response, without its uuid, which the request has too.
RESULT_BYTES = 100
_ANSWER_START = b'{"results":{'
# Added to each event of a batch. Names and versions of libraries have a tenth of this.
SDK_INFO_CHARS_MAX = 200

_JSON = "application/json"

# Options and top-level fields of an event, with the properties that they stand for.
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
    """A parsed v1 request.

    Attributes:
        capture: Only the events that are not dropped.
        results: The results by event uuid.
    """

    capture: Capture
    results: Mapping[str, Result]


class LargeV1(Struct, frozen=True):
    """A large v1 request whose items have not been read yet.

    Attributes:
        bytes_to_read: Estimated memory for reading the items, besides the body and a window.
    """

    json: bytes
    historical: bool
    bytes_to_read: int


def read_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> CaptureV1:
    """Read a request of any size.

    Raises:
        InvalidPayload: The body is not valid.
        NoData: Nothing was sent.
        BodyTooLarge: The body exceeds `bytes_max`.

    Source: sdk-wire.md 3.8.
    """
    return _read_form(request, _decode_form(request, bytes_max))


def read_small_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> CaptureV1 | None:
    """Read a small request on the event loop, as `read_v1` does.

    Returns:
        None for a body that may take longer.
    """
    encoding = request.headers.get("content-encoding") or ""
    query = parse_query(request.query)
    form = decode_small(request.body, _JSON, encoding, query, bytes_max)
    return None if form is None else _read_form(request, form)


def read_large_v1(request: Request, bytes_max: int = BODY_BYTES_MAX) -> LargeV1:
    """Read everything except the items, window by window.

    Raises:
        InvalidPayload: The body is not valid.
        NoData: Nothing was sent.
        BodyTooLarge: The body exceeds `bytes_max`.
    """
    raw = _decode_form(request, bytes_max).json
    outline = outline_of(raw)
    _require_batch(outline.top)
    is_historical = outline.top.get("historical_migration") is True
    bytes_per_item = RESULT_BYTES + (MARK_BYTES_MAX if _sent_at(request).unreadable else 0)
    return LargeV1(raw, is_historical, outline.item_bytes + bytes_per_item * outline.items)


def read_items_v1(request: Request, large: LargeV1) -> tuple[Capture, bytes]:
    """Return the capture and the response body.

    Raises:
        DecodedTooLarge: An item takes too much memory.
    """
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
    body = with_stack_to_spare(parse_json, form.json)
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
    """Return the items that are not dropped, and the result of each item."""
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
    """Return the key, also if it is sent without a scheme; "" if there is none."""
    given: str = (request.headers.get("authorization") or "").strip()
    names_a_scheme = " " in given or given.lower() == "bearer"
    return bearer_key(given) or ("" if names_a_scheme else given)


def v1_answer(results: Mapping[str, Result]) -> bytes:
    return msgspec.json.encode({"results": results})


def v1_error(error: AppError) -> bytes:
    """Return the common error body and the additional fields read by clients of this protocol."""
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
    """Return the event in the shape of the other capture paths. Its existing properties win."""
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
    """Return the properties of a header such as `PostHog-Sdk-Info: posthog-python/7.22.0`."""
    sdk_info: str = request.headers.get("posthog-sdk-info") or ""
    name, _, version = sdk_info[:SDK_INFO_CHARS_MAX].partition("/")
    named = {"$lib": name.strip(), "$lib_version": version.strip()}
    return {key: value for key, value in named.items() if value}
