"""A multipart form, read while it comes in.

What is large waits in temporary files that have no name: they are gone with the request, and
with the process.
"""

import asyncio
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile

import multipart  # type: ignore[import-untyped]  # ships no types

from fanion.errors import BodyTooLarge, ParseError
from fanion.rest.body import NOTHING, Body

MULTIPART = "multipart/form-data"
FIELDS_MAX = 1000
# A field that is longer can only be a file, and waits on the disk.
TEXT_BYTES_MAX = 1_048_576
# Of all other fields together, which are held in memory.
TEXTS_BYTES_MAX = 20 * 1_048_576
# Taken from what comes in before it is parsed, in a thread.
PIECE_BYTES = 256 * 1024


async def read_form(pieces: AsyncIterator[bytes], content_type: str, bytes_max: int) -> Body:
    """An empty body counts as an empty object. The caller closes the body.

    raises: ParseError, BodyTooLarge for more than bytes_max
    """
    form = _Form(content_type)
    size, waiting = 0, bytearray()
    try:
        async for piece in pieces:
            size += len(piece)
            if size > bytes_max:
                raise BodyTooLarge(bytes_max)
            waiting += piece
            if len(waiting) >= PIECE_BYTES:
                await asyncio.to_thread(form.take, bytes(waiting))
                waiting.clear()
        if not size:
            return NOTHING
        await asyncio.to_thread(form.take, bytes(waiting))
        form.end()
    except BaseException:
        form.close()
        raise
    return form.body()


class _Field:
    def __init__(self) -> None:
        self.file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(TEXT_BYTES_MAX)  # noqa: SIM115  closed with the body
        self.size = 0

    @property
    def is_text(self) -> bool:
        return self.size <= TEXT_BYTES_MAX


class _Form:
    """Each field's last value."""

    def __init__(self, content_type: str) -> None:
        boundary = multipart.parse_options_header(content_type)[1].get("boundary", "")
        self._fields: dict[str, _Field] = {}
        self._current: _Field | None = None
        try:
            self._parser = multipart.PushMultipartParser(boundary, max_segment_count=FIELDS_MAX)
        except multipart.MultipartError as error:
            raise _malformed(error) from None

    def take(self, piece: bytes) -> None:
        """raises: ParseError, BodyTooLarge"""
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
        if sum(field.size for field in self._fields.values() if field.is_text) > TEXTS_BYTES_MAX:
            raise BodyTooLarge(TEXTS_BYTES_MAX)

    def end(self) -> None:
        """raises: ParseError for a form that breaks off"""
        try:
            self._parser.close()
        except multipart.MultipartError as error:
            raise _malformed(error) from None

    def body(self) -> Body:
        texts = {}
        for name, field in self._fields.items():
            field.file.seek(0)
            if field.is_text:
                texts[name] = [field.file.read().decode("utf-8", "replace")]
                field.file.seek(0)
        return Body(texts, form=True, files={n: one.file for n, one in self._fields.items()})

    def close(self) -> None:
        for field in self._fields.values():
            field.file.close()

    def _begin(self, name: str) -> None:
        before = self._fields.get(name)
        if before is not None:
            before.file.close()
        self._current = self._fields[name] = _Field()


def _malformed(error: Exception) -> ParseError:
    return ParseError(f"Multipart form parse error - {error}")
