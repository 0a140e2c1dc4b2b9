"""Answers of the management API as JSON. Large ones are encoded in a thread and sent in pieces:
a call of the encoder holds the whole process up, so each is about one row."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import msgspec
from litestar import Response
from litestar.serialization import default_serializer
from msgspec import UNSET, Struct

from fanion.rest.endpoints import Streamed

# Encoding more than this takes more than a millisecond, which the event loop has not.
ENCODED_ON_LOOP_BYTES_MAX = 128 * 1024
PIECE_BYTES = 256 * 1024

_encode = msgspec.json.Encoder(enc_hook=default_serializer).encode


async def encode_answer(response: Any) -> Any:
    """A hook of the application, called with the response to be sent; bare ones pass through."""
    content = response.content if isinstance(response, Response) else None
    if not isinstance(content, Struct | list | dict):
        return response
    fragments = _fragments(content)
    body = _gathered(fragments, ENCODED_ON_LOOP_BYTES_MAX)
    if len(body) < ENCODED_ON_LOOP_BYTES_MAX:
        response.content = body
        return response
    pieces = _pieces(body, fragments)
    return Streamed(pieces, "application/json", response.status_code, response.headers)


async def _pieces(first: bytes, fragments: Iterator[bytes]) -> AsyncGenerator[bytes]:
    piece = first
    while piece:
        yield piece
        piece = await asyncio.to_thread(_gathered, fragments, PIECE_BYTES)


def _gathered(fragments: Iterator[bytes], bytes_min: int) -> bytes:
    """Some of them; none are left when it is empty."""
    some, size = list[bytes](), 0
    for fragment in fragments:
        some.append(fragment)
        size += len(fragment)
        if size >= bytes_min:
            break
    return b"".join(some)


def _fragments(content: Any) -> Iterator[bytes]:
    """The encoded content; rows of lists, also of those that are a field, by themselves."""
    if isinstance(content, list):
        yield from _rows(content)
    elif isinstance(content, dict):
        yield from _members(content.items())
    elif content.__struct_config__.omit_defaults or content.__struct_config__.tag is not None:
        yield _encode(content)
    else:
        names = zip(content.__struct_fields__, content.__struct_encode_fields__, strict=True)
        yield from _members((shown, getattr(content, name)) for name, shown in names)


def _members(members: Any) -> Iterator[bytes]:
    """members: name and value"""
    before = b"{"
    for name, value in members:
        if value is UNSET:
            continue
        yield before + _encode(name) + b":"
        if isinstance(value, list):
            yield from _rows(value)
        else:
            yield _encode(value)
        before = b","
    yield b"{}" if before == b"{" else b"}"


def _rows(rows: list[Any]) -> Iterator[bytes]:
    before = b"["
    for row in rows:
        yield before + _encode(row)
        before = b","
    yield b"[]" if before == b"[" else b"]"
