"""The decoding of bodies and queries: compression, forms and base64 around JSON.

The order of `decode_body` serves every known client. Decompression stops at the limit.
"""

import binascii
import json
import math
import re
import string
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
import multipart  # type: ignore[import-untyped]  # ships no types
from msgspec import Struct

from fanion.errors import BodyTooLarge, NoData, malformed
from fanion.server.request import Request
from fanion.wire.compression import (
    DECOMPRESSORS,
    GZIP_MAGIC,
    LZ64_BYTES_MAX,
    decompress_lz64,
    gunzip,
)

# The limit of a body as received, and again after decompression: less than 20 MiB (api.md, Limits).
BODY_BYTES_MAX = 20 * 1024**2 - 1
ENCODINGS_MAX = 3  # in one Content-Encoding
# The limit of a decompressed body that is read on the event loop. Reading more takes more than a
# few milliseconds, which is too long there.
READ_ON_LOOP_BYTES_MAX = 64 * 1024
LZ64_ON_LOOP_BYTES_MAX = 4 * 1024  # read one code at a time, in Python: 2 ms
FORM_FIELDS_MAX = 100
FORM_FIELD_BYTES_MAX = 4096  # every field except `data`
QUERY_FIELDS_MAX = 100
BROKEN_ESCAPES_MAX = 1000  # in one chunk; repairing one costs 0.3 µs

_CHUNK = 256 * 1024
_DEEP_BYTES_MIN = 1000  # a level takes two characters, so less cannot use up Python's 1000 frames
_BOM = b"\xef\xbb\xbf"
_NOT_BASE64 = bytes(set(range(256)) - set((string.ascii_letters + string.digits + "+/").encode()))
_JSON_TYPES = frozenset({"", "text/plain", "application/json"})
_ESCAPE = re.compile(rb"%[0-9A-Fa-f]{2}")
_NOT_AN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")

T = TypeVar("T")

_decode = msgspec.json.Decoder().decode

_USUAL_QUERY_CHARS = 100
_NO_FIELDS: Mapping[str, str] = {}


class DecodedForm(Struct, frozen=True):
    """A decoded body.

    Attributes:
        json: The JSON text, not parsed, never empty; valid UTF-8 unless a client sent plain JSON
            that is not.
        fields: The other fields of a form, without `data`.
    """

    json: bytes
    fields: Mapping[str, str] = {}


def decode_body(
    body: bytes,
    content_type: str = "",
    content_encoding: str = "",
    query: Mapping[str, str] | None = None,
    bytes_max: int = BODY_BYTES_MAX,
    lz64_bytes_max: int = LZ64_BYTES_MAX,
) -> DecodedForm:
    """Undo everything around the JSON of a body.

    In this order: Content-Encoding, gzip by its first bytes, form, lz64 or gzip named by
    `compression`, base64.

    Raises:
        InvalidPayload: The body cannot be decoded.
        NoData: Nothing is left.
        BodyTooLarge: The body, or a decompressed form of it, exceeds a limit.

    Source: capture.md 1.3, sdk-wire.md 3.2.
    """
    if len(body) > bytes_max:
        raise BodyTooLarge(bytes_max)
    requested = query.get("compression", "") if query else ""
    if _is_plain_json(body, content_encoding, requested):
        return DecodedForm(body)
    data, named = _undo_content_encoding(body, content_encoding, bytes_max)
    if data.startswith(GZIP_MAGIC):
        data = gunzip(data, bytes_max)
    gunzipped = data is not body
    fields: dict[str, str] = {}
    if _is_form(data, content_type):
        data, fields = _read_form(data, content_type)
    compression = (requested or fields.get("compression", "") or named).lower()
    if compression == "lz64":
        data = _unlz64(data, bytes_max, lz64_bytes_max)
    data = _undo_compression(data, compression, gunzipped, bytes_max)
    data = _trim_blanks(data)
    if not data:
        raise NoData
    return DecodedForm(data, fields)


def _is_plain_json(body: bytes, content_encoding: str, requested: str) -> bool:
    return body[:1] in (b"{", b"[") and not content_encoding and not requested


def decode_small(
    body: bytes,
    content_type: str,
    content_encoding: str,
    query: Mapping[str, str] | None,
    bytes_max: int,
) -> DecodedForm | None:
    """Decode a body like `decode_body`, on the event loop.

    The decompressed size is known only by decompressing.

    Returns:
        None, after at most READ_ON_LOOP_BYTES_MAX, for a body that is larger.
    """
    if len(body) > READ_ON_LOOP_BYTES_MAX:
        return None
    if body[:1] in (b"{", b"[") and not (content_encoding or query) and len(body) <= bytes_max:
        return DecodedForm(body)  # an ordinary body, at once
    small = min(bytes_max, READ_ON_LOOP_BYTES_MAX)
    try:
        return decode_body(
            body, content_type, content_encoding, query, small, LZ64_ON_LOOP_BYTES_MAX
        )
    except BodyTooLarge:
        return None


def decode_request(request: Request, query: Mapping[str, str], bytes_max: int) -> DecodedForm:
    """Decode the body of a request by its headers, like `decode_body`."""
    headers = request.headers
    content_type, encoding = headers.get("content-type"), headers.get("content-encoding")
    return decode_body(request.body, content_type or "", encoding or "", query, bytes_max)


def is_plain_json(request: Request, query: Mapping[str, str]) -> bool:
    """Return whether the body of a request is JSON with nothing around it."""
    encoding = request.headers.get("content-encoding") or ""
    return _is_plain_json(request.body, encoding, query.get("compression", ""))


def decode_small_request(
    request: Request, query: Mapping[str, str], bytes_max: int
) -> DecodedForm | None:
    """Decode the body of a request by its headers, like `decode_small`."""
    headers = request.headers
    content_type, encoding = headers.get("content-type"), headers.get("content-encoding")
    return decode_small(request.body, content_type or "", encoding or "", query, bytes_max)


def parse_json(raw: bytes) -> Any:
    """Parse JSON from clients: NaN and infinities become null, lone surrogates U+FFFD.

    Raises:
        InvalidPayload: The text is not JSON, or nested too deeply.
    """
    try:
        return _decode(raw)
    except RecursionError:
        raise malformed("nested too deeply.") from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _loads_tolerant(raw)


def with_stack_to_spare(function: Callable[[bytes], T], raw: bytes, frames: int = 40) -> T:
    """Decode with a deeper stack than the caller's.

    Callers with a deep stack can then decode and encode the value again later: only the stack
    limits nesting.
    """
    if frames == 0 or len(raw) < _DEEP_BYTES_MIN:
        return function(raw)
    return with_stack_to_spare(function, raw, frames - 1)


def parse_query(query: str) -> Mapping[str, str]:
    """Return the fields of a query string; of a repeated field the last value.

    Raises:
        InvalidPayload: The query has too many fields or invalid escapes.
    """
    if not query:
        return _NO_FIELDS
    return _parse_usual(query) if len(query) <= _USUAL_QUERY_CHARS else _parse_query(query)


def _parse_query(query: str) -> Mapping[str, str]:
    return _read_urlencoded(query.encode("utf-8", "replace"), QUERY_FIELDS_MAX)


# Clients send a handful of queries (`v=2`, `ip=0&ver=1.2`) in millions of requests.
_parse_usual = lru_cache(256)(_parse_query)


def _loads_tolerant(raw: bytes) -> Any:
    try:
        value = json.loads(
            _decode_text(raw),
            parse_constant=_null_constant,
            parse_float=_finite_float,
            parse_int=_bounded_integer,
        )
        # Encoding the value again joins surrogates that were escaped separately.
        return _decode(_join_surrogates(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise malformed("nested too deeply.") from None
    except ValueError as error:
        raise malformed(str(error)) from None


def _null_constant(name: str) -> None:
    return None


def _finite_float(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def _bounded_integer(text: str) -> int | float | None:
    # Python refuses to read integers of more than 4300 digits.
    return int(text) if len(text) < 4000 else _finite_float(text)


def is_utf8(raw: bytes) -> bool:
    try:
        return raw.isascii() or raw.decode() is not None
    except UnicodeDecodeError:
        return False


def _decode_text(raw: bytes) -> str:
    """Decode UTF-8 that may contain lone surrogates.

    Raises:
        UnicodeDecodeError: The bytes are not UTF-8.
    """
    return raw.decode("utf-8", "surrogatepass")


def _join_surrogates(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _trim_blanks(data: bytes) -> bytes:
    return data.removeprefix(_BOM).strip(b" \t\r\n")


# ── Compression ──────────────────────────────────────────────────────────────────────────


def _undo_content_encoding(body: bytes, header: str, bytes_max: int) -> tuple[bytes, str]:
    """Return the body, and the name of an encoding that is not one of HTTP (lz64, base64)."""
    named = ""
    encodings = [name.strip() for name in header.lower().split(",")] if header else []
    if len(encodings) > ENCODINGS_MAX:
        raise malformed(f"more than {ENCODINGS_MAX} content encodings.")
    for encoding in reversed(encodings):
        if undo := DECOMPRESSORS.get(encoding):
            body = undo(body, bytes_max)
        else:
            named = encoding
    return body, named


def _undo_compression(data: bytes, compression: str, gunzipped: bool, bytes_max: int) -> bytes:
    """Undo base64, and then gzip.

    Args:
        gunzipped: Whether a gzip named by `compression` has been undone already.
    """
    data = _undo_base64(_trim_blanks(data))
    if data.startswith(GZIP_MAGIC):
        return gunzip(data, bytes_max)
    if compression in ("gzip", "gzip-js") and not gunzipped:
        raise malformed("Failed to decompress data. Not a gzipped file.")
    return data


def _unlz64(data: bytes, bytes_max: int, text_bytes_max: int) -> bytes:
    if len(data) > text_bytes_max:
        raise BodyTooLarge(text_bytes_max)
    text = decompress_lz64(data, bytes_max).encode()
    if len(text) > bytes_max:
        raise BodyTooLarge(bytes_max)
    return text


def _undo_base64(data: bytes) -> bytes:
    """Undo base64; return the data itself if it is JSON or not base64."""
    if not data or data[:1] in (b"{", b"[", b'"') or _is_json(data):
        return data
    text = data.replace(b" ", b"+").rstrip(b"=")
    try:
        decoded = b"".join(_base64_parts(text))
    except binascii.Error:
        return data
    if not decoded:
        return data  # no byte is in base64's alphabet
    # Large data is decoded in pieces, where surrogates are joined and invalid UTF-8 is detected.
    if decoded.startswith(GZIP_MAGIC) or len(decoded) > _CHUNK:
        return decoded
    try:
        return decoded if is_utf8(decoded) else _join_surrogates(_decode_text(decoded))
    except UnicodeDecodeError:
        return data


def _base64_parts(text: bytes) -> Iterator[bytes]:
    """Decode one chunk at a time, since a call of the decoder holds the GIL."""
    rest = b""
    for start in range(0, len(text), _CHUNK):
        # Other characters are skipped, as by the decoder; `=` ends the text.
        chunk, end, _ = text[start : start + _CHUNK].partition(b"=")
        rest += chunk.translate(None, _NOT_BASE64)
        whole = len(rest) - len(rest) % 4
        yield binascii.a2b_base64(rest[:whole])
        rest = rest[whole:]
        if end:
            break
    if rest:
        yield binascii.a2b_base64(rest + b"=" * (-len(rest) % 4))


def _is_json(data: bytes) -> bool:
    """Return whether the data is a number or constant.

    Objects, arrays and texts are known by their first character.
    """
    if len(data) > READ_ON_LOOP_BYTES_MAX:
        return False
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


# ── Forms ────────────────────────────────────────────────────────────────────────────────


def _is_form(data: bytes, content_type: str) -> bool:
    """Return whether the data is a form.

    `curl -d '{…}'` sends JSON as a form; beacons send forms as text.
    """
    if data.startswith(b"data="):
        return True
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type not in _JSON_TYPES and data.lstrip()[:1] not in (b"{", b"[")


def _read_form(data: bytes, content_type: str) -> tuple[bytes, dict[str, str]]:
    """Return the field `data`, and the other fields.

    Raises:
        NoData: There is no such field, or it is empty.
        InvalidPayload: The form cannot be read.
    """
    if content_type.strip().lower().startswith("multipart/"):
        fields = read_multipart(data, content_type)
    else:
        pairs = split_urlencoded(data, FORM_FIELDS_MAX)
        fields = {_text_of(name): value for name, value in pairs}
    content = fields.pop("data", b"")
    if not content:
        raise NoData
    return content, {name: _field_text(value) for name, value in fields.items()}


def _field_text(value: bytes) -> str:
    return value[:FORM_FIELD_BYTES_MAX].decode("utf-8", "replace")


def read_multipart(data: bytes, content_type: str) -> dict[str, bytes]:
    """Return each field's last value, including files.

    Raises:
        InvalidPayload: The form cannot be read.
    """
    fields: dict[str, list[bytes]] = {}
    current: list[bytes] = []
    try:
        boundary = multipart.parse_options_header(content_type)[1].get("boundary", "")
        with multipart.PushMultipartParser(boundary, max_segment_count=FORM_FIELDS_MAX) as parser:
            for event in (*parser.parse(data), *parser.parse(b"")):
                if isinstance(event, multipart.MultipartSegment):
                    current = fields.setdefault(event.name, [])
                    current.clear()
                elif event:
                    current.append(bytes(event))
    except multipart.MultipartError as error:
        raise malformed(str(error)) from None
    return {name: b"".join(parts) for name, parts in fields.items()}


def _read_urlencoded(data: bytes, fields_max: int) -> dict[str, str]:
    pairs = split_urlencoded(data, fields_max)
    return {_text_of(name): _text_of(value) for name, value in pairs}


def _text_of(unquoted: bytes) -> str:
    return unquoted.decode("utf-8", "replace")


def split_urlencoded(data: bytes, fields_max: int) -> list[tuple[bytes, bytes]]:
    """Return names and values, unescaped.

    Raises:
        InvalidPayload: There are too many fields or invalid escapes.
    """
    pairs = data.split(b"&", fields_max)
    if len(pairs) > fields_max:
        raise malformed(f"more than {fields_max} form fields.")
    return [
        (_unquote(name), _unquote(value))
        for name, _, value in (pair.partition(b"=") for pair in pairs if pair)
    ]


def _unquote(quoted: bytes) -> bytes:
    """Undo percent escapes and `+`.

    The standard library splits at every escape, which turns a 20 MB body into 600 MB.
    Quoted-printable is the same code with another sign.
    """
    quoted = quoted.replace(b"+", b" ")
    if b"%" not in quoted:
        return quoted
    parts: list[bytes] = []
    start = 0
    while start < len(quoted):
        end = start + _CHUNK
        if _ESCAPE.match(quoted, end - 1):  # an escape must not be cut in two
            end += 2
        elif _ESCAPE.match(quoted, end - 2):
            end += 1
        escaped, broken = _NOT_AN_ESCAPE.subn(b"%25", quoted[start:end], BROKEN_ESCAPES_MAX)
        if broken == BROKEN_ESCAPES_MAX:
            raise malformed(f"more than {BROKEN_ESCAPES_MAX} invalid percent escapes.")
        parts.append(binascii.a2b_qp(escaped.replace(b"=", b"%3D").replace(b"%", b"=")))
        start = end
    return b"".join(parts)
