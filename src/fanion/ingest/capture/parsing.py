"""The parsing of a capture request into typed values, before anything is stored.

An ordinary body is parsed shallowly: only the parts on which the response depends, without
properties. Its bytes go to the accept log unchanged. Any other body is decoded in full. A large
body is outlined window by window; if it must be rewritten, that is done after its key has been
verified.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct

from fanion.errors import DecodedTooLarge, InvalidPayload, NoData
from fanion.ingest.items import (
    NOT_A_BODY,
    UNREADABLE_SENT_AT,
    RequestOutline,
    UsualItem,
    fault_of,
    items_of,
    iter_items,
    outline_of,
)
from fanion.ingest.timestamps import NOT_SAID, SENT_AT_CHARS_MAX, SentAt, read_sent_at
from fanion.server.request import Request
from fanion.wire.decoding import (
    BODY_BYTES_MAX,
    READ_ON_LOOP_BYTES_MAX,
    DecodedForm,
    decode_request,
    decode_small_request,
    is_plain_json,
    is_utf8,
    parse_json,
    parse_query,
    with_stack_to_spare,
)
from fanion.wire.incremental_json import DECODED_BYTES_MAX

ENGAGE_EVENT = "$identify"
_PERSONAL_KEY = "phx_"
_TOKEN_KEYS = ("$token", "token", "api_key")
# The limit of an ordinary body that is read on the event loop: 0.4 ms, or 2 ms where an event is
# hardly more than its braces.
SHALLOW_ON_LOOP_BYTES_MAX = 512 * 1024
# The size of this field with its name, and with characters that JSON escapes.
MARK_BYTES_MAX = len(UNREADABLE_SENT_AT) + 6 * SENT_AT_CHARS_MAX + 6


class Capture(Struct, frozen=True):
    """A parsed capture request.

    Attributes:
        token: The project key as given; "" if there is none.
        project: `project_id` as given, for requests whose token is a personal key.
        sent_at: The time of sending by the client's clock.
        historical: Whether it is part of an import.
        items_json: Clean JSON for the accept log: one item, an array or an object with `batch`.
        items: Number of items; with 0, nothing is appended to the log.
        refusal: To be raised after the token has been verified: the items are invalid, or one takes
            more memory than ingestion has for it.
        is_single: Whether the body is one item.
    """

    token: str
    project: Any
    sent_at: SentAt
    historical: bool
    items_json: bytes
    items: int
    refusal: InvalidPayload | DecodedTooLarge | None = None
    is_single: bool = False


class LargeCapture(Struct, frozen=True):
    """A large capture request whose items may have to be rewritten.

    Attributes:
        capture: The request as sent.
        is_engage: Whether the path is `/engage/`.
        item_bytes: Memory for rewriting it, as Python objects; None if no rewriting is needed.
    """

    capture: Capture
    is_engage: bool
    item_bytes: int | None


def read_small(
    request: Request, bytes_max: int = BODY_BYTES_MAX, *, is_engage: bool = False
) -> Capture | None:
    """Read a small request on the event loop, as `read_capture` does.

    Returns:
        None for a body that may take longer.
    """
    query = parse_query(request.query)
    form = decode_small_request(request, query, bytes_max)
    if form is not None:
        return _read_form(form, query, is_engage=is_engage)
    if is_engage or len(request.body) > min(bytes_max, SHALLOW_ON_LOOP_BYTES_MAX):
        return None
    return read_shallow(request.body, query) if is_plain_json(request, query) else None


def read_large(
    request: Request, bytes_max: int = BODY_BYTES_MAX, *, is_engage: bool = False
) -> LargeCapture:
    """Read a request as `read_capture` does, but without holding decoded values.

    Raises:
        InvalidPayload: The body is not valid.
        NoData: Nothing was sent.
        BodyTooLarge: The body exceeds `bytes_max`.
    """
    query = parse_query(request.query)
    form = decode_request(request, query, bytes_max)
    if len(form.json) <= READ_ON_LOOP_BYTES_MAX:
        return LargeCapture(_read_form(form, query, is_engage=is_engage), is_engage, None)
    outline = outline_of(form.json)
    _require_container(outline.top)
    if outline.is_empty:
        raise NoData
    capture = _capture_of(form, query, outline)
    if outline.item_bytes > DECODED_BYTES_MAX and capture.refusal is None:
        refusal = DecodedTooLarge(DECODED_BYTES_MAX)
        capture = msgspec.structs.replace(capture, refusal=refusal)
    is_secret = capture.project or capture.token.startswith(_PERSONAL_KEY)
    is_changed = is_secret or is_engage or capture.sent_at.unreadable
    if capture.refusal is not None or (outline.is_clean and not is_changed):
        return LargeCapture(capture, is_engage, None)
    marks = MARK_BYTES_MAX * outline.items if capture.sent_at.unreadable else 0
    return LargeCapture(capture, is_engage, outline.item_bytes + marks)


def rewrite(large: LargeCapture, item_bytes_max: int = DECODED_BYTES_MAX) -> Capture:
    """Return the capture to log, in strictly valid JSON and without secrets.

    Raises:
        DecodedTooLarge: An item takes more than `item_bytes_max`.
    """
    capture = large.capture
    is_secret = capture.project or capture.token.startswith(_PERSONAL_KEY)
    parts: list[bytes] = []
    for items in iter_items(capture.items_json, item_bytes_max):
        if is_secret:
            _remove_key(items, capture.token)
        if large.is_engage and capture.is_single:
            items[0]["event"] = ENGAGE_EVENT
        mark_unreadable(items, capture.sent_at)
        if items:
            parts.append(msgspec.json.encode(items)[1:-1])
    return msgspec.structs.replace(capture, items_json=b"[" + b",".join(parts) + b"]")


def read_capture(
    request: Request, bytes_max: int = BODY_BYTES_MAX, *, is_engage: bool = False
) -> Capture:
    """Read a request of any size, of any capture path except v1.

    Args:
        is_engage: Whether the path is `/engage/`, whose objects are person updates.

    Raises:
        InvalidPayload: The body is not valid.
        NoData: Nothing was sent.
        BodyTooLarge: The body exceeds `bytes_max`.

    Source: capture.md 1.2 to 1.7.
    """
    query = parse_query(request.query)
    return _read_form(decode_request(request, query, bytes_max), query, is_engage=is_engage)


def _read_form(form: DecodedForm, query: Mapping[str, str], *, is_engage: bool) -> Capture:
    if not is_engage and not form.fields:
        capture = read_shallow(form.json, query)
        if capture is not None:
            return capture
    return _read_in_full(form, query, is_engage)


# ── The ordinary body ────────────────────────────────────────────────────────────────────


class _Properties(Struct, gc=False):
    token: str | None = None


class _KeyItem(Struct, gc=False):
    """An item, or an object with `batch`, that may carry the project key."""

    batch: list[UsualItem] | None = None
    dollar_token: str | None = msgspec.field(default=None, name="$token")
    token: str | None = None
    api_key: str | None = None
    project_id: int | str | None = None
    sent_at: str | None = None
    historical_migration: bool | None = None
    uuid: UUID | None = None
    properties: _Properties | None = None

    def key(self) -> str:
        within = self.properties.token if self.properties is not None else None
        return self.dollar_token or self.token or self.api_key or within or ""


_decode_shallow_object = msgspec.json.Decoder(_KeyItem).decode
_decode_shallow_array = msgspec.json.Decoder(list[_KeyItem]).decode


def read_shallow(raw: bytes, query: Mapping[str, str]) -> Capture | None:
    """Parse what the response depends on; return None for a body that must be read in full."""
    try:
        if raw[:1] == b"{":
            first = with_stack_to_spare(_decode_shallow_object, raw)
            items: list[UsualItem] | list[_KeyItem] = (
                [first] if first.batch is None else first.batch
            )
            sent_at = first.sent_at
        else:
            items = array = with_stack_to_spare(_decode_shallow_array, raw)
            first, sent_at = array[0], None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, IndexError):
        return None
    key = first.key()
    if not key or not items or first.project_id or key.startswith(_PERSONAL_KEY):
        return None
    for item in items:
        if item.properties is None and item.uuid is None:  # as in `UsualItem.is_usual`, unrolled
            return None
    if not is_utf8(raw):  # skipped texts have not been checked
        return None
    sent = NOT_SAID
    if query or sent_at:
        sent = read_sent_at(query.get("_"), query.get("sent_at"), sent_at)
        if sent.unreadable:
            return None
    return Capture(
        token=key,
        project=None,
        sent_at=sent,
        historical=raw[:1] == b"{" and first.historical_migration is True,
        items_json=raw,
        items=len(items),
    )


# ── Any other body ───────────────────────────────────────────────────────────────────────


def _read_in_full(form: DecodedForm, query: Mapping[str, str], is_engage: bool) -> Capture:
    value = with_stack_to_spare(parse_json, form.json)
    _require_container(value)
    if not value:
        raise NoData
    if is_engage and isinstance(value, dict):
        value["event"] = ENGAGE_EVENT
    items = items_of(value)
    capture = _capture_of(form, query, _outline_in_full(value, items))
    if capture.refusal is not None:
        return capture
    if capture.project or capture.token.startswith(_PERSONAL_KEY):
        top = value if isinstance(value, dict) else {}
        _remove_key([top, *items], capture.token)
    mark_unreadable(items, capture.sent_at)
    return msgspec.structs.replace(capture, items_json=msgspec.json.encode(value))


def _require_container(value: Any) -> None:
    """Require an object or an array. Null and an empty text count as no data.

    Raises:
        NoData: The value is null or "".
        InvalidPayload: The value is anything else.
    """
    if value is None or value == "":
        raise NoData
    if not isinstance(value, dict | list):
        raise InvalidPayload(NOT_A_BODY)


def _outline_in_full(value: Any, items: Any) -> RequestOutline:
    return RequestOutline(
        top=value,
        first=items[0] if isinstance(items, list) and items else None,
        items=len(items) if isinstance(items, list) else 0,
        fault=fault_of(items),
    )


def _capture_of(form: DecodedForm, query: Mapping[str, str], outline: RequestOutline) -> Capture:
    """Return the capture with its body as sent."""
    top = outline.top if isinstance(outline.top, dict) else {}
    # The fields of the request are in the object, or in the first item of an array.
    is_array = isinstance(outline.top, list)
    first = outline.first if is_array and isinstance(outline.first, dict) else top
    token = form.fields.get("api_key") or form.fields.get("token")
    token = token or _key_of(first, outline.first)
    in_query = query.get("_"), query.get("sent_at")
    return Capture(
        token=token if isinstance(token, str) else msgspec.json.encode(token).decode(),
        project=form.fields.get("project_id") or first.get("project_id"),
        sent_at=read_sent_at(*in_query, top.get("sent_at"), form.fields.get("sent_at")),
        historical=top.get("historical_migration") is True,
        items_json=form.json,
        items=outline.items,
        refusal=None if outline.fault is None else InvalidPayload(outline.fault),
        is_single=not is_array and outline.first is outline.top,
    )


def _key_of(first: Mapping[str, Any], within: Any) -> Any:
    """Return the first key found. With `batch`, the first item is searched too.

    Source: capture.md 1.4.
    """
    for fields in (first, within):
        if not isinstance(fields, dict):
            continue
        properties = fields.get("properties")
        in_properties = properties.get("token") if isinstance(properties, dict) else None
        if key := next(filter(None, map(fields.get, _TOKEN_KEYS)), None) or in_properties:
            return key
    return ""


def mark_unreadable(items: list[dict[str, Any]], sent_at: SentAt) -> None:
    """Keep an unreadable time of sending with each item, so that ingestion can count it."""
    if sent_at.unreadable:
        for item in items:
            item[UNREADABLE_SENT_AT] = sent_at.unreadable


def _remove_key(objects: list[dict[str, Any]], token: str) -> None:
    """Remove a personal key, a secret that must not be stored in the log or in properties."""
    for fields in objects:
        for name in _TOKEN_KEYS:
            fields.pop(name, None)
        properties = fields.get("properties")
        if isinstance(properties, dict) and properties.get("token") == token:
            del properties["token"]
