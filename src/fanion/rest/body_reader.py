"""Reads the body of a management request into plain values, from JSON or a form.

A multipart form is read while it arrives. Large fields are kept in temporary files without a name,
which disappear with the request or the process. Held bytes are counted.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import IO, Any

import msgspec
import multipart  # type: ignore[import-untyped]  # ships no types

from fanion.errors import MALFORMED, BodyTooLarge, InvalidPayload, ParseError, UnsupportedMediaType
from fanion.wire.decoding import READ_ON_LOOP_BYTES_MAX, split_urlencoded
from fanion.wire.incremental_json import parse_large_json

# Filters of flags and cohorts nest about ten levels deep; JSON encoders run out of stack far beyond
# this limit.
NESTING_MAX = 100
FORM_FIELDS_MAX = 1000
MULTIPART = "multipart/form-data"
TEXT_BYTES_MAX = 1_048_576  # limit of a text field; a larger field is a file and is kept on disk
TEXTS_BYTES_MAX = 20 * 1_048_576  # limit of all text fields together, which are kept in memory
FIELD_BYTES = 1_000  # memory of an empty field
PIECE_BYTES = 256 * 1024  # bytes collected from the network before a thread parses them


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    Attributes:
        values: Decoded JSON of any kind; for a form a list of texts by field name.
        files: For a multipart form every field, positioned at its start; closed with the body.
    """

    values: Any
    form: bool = False
    files: Mapping[str, IO[bytes]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """Return the text under a name, or None if there is none."""
        value = self.values.get(name) if isinstance(self.values, dict) else None
        if self.form and value:
            value = value[-1]
        return value if isinstance(value, str) else None

    def close(self) -> None:
        for file in self.files.values():
            file.close()


EMPTY_BODY = Body({})


def read_body(content_type: str, raw: bytes) -> Body:
    """Read a JSON or URL-encoded body; `read_form` reads a multipart form.

    An empty body counts as an empty object; a body without a content type is JSON.

    Raises:
        ParseError: The body cannot be read.
        UnsupportedMediaType: It has another type.
    """
    if not raw:
        return EMPTY_BODY
    if _media_type(content_type) == "application/x-www-form-urlencoded":
        return Body(_urlencoded(raw), form=True)
    _require_json(content_type)
    return Body(_json(raw))


def is_multipart(content_type: str) -> bool:
    return _media_type(content_type) == MULTIPART


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _require_json(content_type: str) -> None:
    media = _media_type(content_type)
    if media not in {"", "application/json"} and not media.endswith("+json"):
        raise UnsupportedMediaType(content_type)


def _urlencoded(raw: bytes) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    try:
        for name, value in split_urlencoded(raw, FORM_FIELDS_MAX):
            fields.setdefault(name.decode(), []).append(value.decode())
    except InvalidPayload as error:
        raise ParseError(f"Malformed form - {_reason(error)}") from None
    except ValueError as error:
        raise ParseError(f"Malformed form - {error}") from None
    return fields


def _json(raw: bytes) -> Any:
    values = _decode(raw) if len(raw) <= READ_ON_LOOP_BYTES_MAX else _decode_large(raw)
    if raw.count(b"[") + raw.count(b"{") > NESTING_MAX and is_deep(values):
        raise ParseError("JSON parse error - nested too deeply")
    return values


def _decode_large(raw: bytes) -> Any:
    try:
        return parse_large_json(raw, strict=True)
    except InvalidPayload as error:
        raise _not_json(error) from None


def _not_json(error: InvalidPayload) -> ParseError:
    return ParseError(f"JSON parse error - {_reason(error)}")


def _reason(error: InvalidPayload) -> str:
    return error.detail.removeprefix(MALFORMED).removesuffix(".")


def _decode(raw: bytes) -> Any:
    try:
        return msgspec.json.decode(raw)
    except RecursionError:
        raise ParseError("JSON parse error - nested too deeply") from None
    except ValueError as error:
        raise ParseError(f"JSON parse error - {error}") from None


# Called with the bytes that a form currently holds in memory and on disk; may refuse them.
Hold = Callable[[int, int], None]


async def read_form(
    pieces: AsyncIterator[bytes],
    content_type: str,
    bytes_max: int,
    hold: Hold,
    folder: str | None = None,
) -> Body:
    """Read a multipart form; an empty body counts as an empty object. The caller closes the result.

    Args:
        pieces: The body, as it is received.
        content_type: The header, with the boundary.
        bytes_max: The largest allowed body.
        hold: Counts the bytes that are held.
        folder: Where large fields are kept; the system's folder of temporary files by default.

    Raises:
        ParseError: The body is not a multipart form.
        BodyTooLarge: The body is larger than bytes_max.
    """
    form = _MultipartForm(content_type, folder)
    size, buffered = 0, bytearray()
    try:
        async for piece in pieces:
            size += len(piece)
            if size > bytes_max:
                raise BodyTooLarge(bytes_max)
            buffered += piece
            hold(form.memory + len(buffered), form.disk)
            if len(buffered) >= PIECE_BYTES:
                await asyncio.to_thread(form.parse_piece, bytes(buffered))
                buffered.clear()
        if not size:
            return EMPTY_BODY
        await asyncio.to_thread(form.parse_piece, bytes(buffered))
        form.finish()
        body = form.body()
        texts = sum(sys.getsizeof(text) for [text] in body.values.values())
        hold(form.memory + texts, form.disk)
    except BaseException:
        form.close()
        raise
    return body


class _Field:
    def __init__(self, folder: str | None) -> None:
        self.file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(TEXT_BYTES_MAX, dir=folder)  # noqa: SIM115  closed with the body
        self.size = 0

    @property
    def is_text(self) -> bool:
        return self.size <= TEXT_BYTES_MAX


class _MultipartForm:
    """A parser of multipart forms that keeps the last value of each field.

    Attributes:
        memory: Bytes of the fields in memory.
        disk: Bytes of the fields on disk.
    """

    def __init__(self, content_type: str, folder: str | None) -> None:
        boundary = multipart.parse_options_header(content_type)[1].get("boundary", "")
        self.memory = self.disk = 0
        self._folder = folder
        self._fields: dict[str, _Field] = {}
        self._current: _Field | None = None
        try:
            self._parser = multipart.PushMultipartParser(
                boundary, max_segment_count=FORM_FIELDS_MAX
            )
        except multipart.MultipartError as error:
            raise _malformed(error) from None

    def parse_piece(self, piece: bytes) -> None:
        """Parse the next piece.

        Raises:
            ParseError: The form is malformed.
            BodyTooLarge: The text fields are too large together.
        """
        if not piece:
            return
        try:
            for event in self._parser.parse(piece):
                if isinstance(event, multipart.MultipartSegment):
                    self._begin(event.name)
                elif event and self._current is not None:
                    self._current.file.write(event)
                    self._current.size += len(event)
        except multipart.MultipartError as error:
            raise _malformed(error) from None
        finally:
            texts = sum(field.size for field in self._fields.values() if field.is_text)
            self.memory = texts + FIELD_BYTES * len(self._fields)
            self.disk = sum(field.size for field in self._fields.values() if not field.is_text)
        if texts > TEXTS_BYTES_MAX:
            raise BodyTooLarge(TEXTS_BYTES_MAX)

    def finish(self) -> None:
        """End the form; raise ParseError if it is incomplete."""
        try:
            self._parser.close()
        except multipart.MultipartError as error:
            raise _malformed(error) from None

    def body(self) -> Body:
        texts = {}
        for name, form_field in self._fields.items():
            form_field.file.seek(0)
            if form_field.is_text:
                texts[name] = [form_field.file.read().decode("utf-8", "replace")]
                form_field.file.seek(0)
        return Body(
            texts, form=True, files={n: form_field.file for n, form_field in self._fields.items()}
        )

    def close(self) -> None:
        for form_field in self._fields.values():
            form_field.file.close()

    def _begin(self, name: str) -> None:
        before = self._fields.get(name)
        if before is not None:
            before.file.close()
        self._current = self._fields[name] = _Field(self._folder)


def _malformed(error: Exception) -> ParseError:
    return ParseError(f"Multipart form parse error - {error}")


def is_deep(values: Any, levels_max: int = NESTING_MAX) -> bool:
    """Return whether decoded JSON is nested more than `levels_max` levels deep."""
    level = [values]
    for _ in range(levels_max):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                inner.extend(value.values())
            elif isinstance(value, list):
                inner.extend(value)
        if not inner:
            return False
        level = inner
    return True
