"""The JSON of management responses has the same bytes, encoded at once or in pieces."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import msgspec
import pytest
from litestar import Response
from msgspec import UNSET, Struct, UnsetType, field

from fanion.rest.endpoints import Streamed, empty_response
from fanion.rest.pagination import Paged
from fanion.web.management_responses import ENCODED_ON_LOOP_BYTES_MAX, PIECE_BYTES, encode_response


class Row(Struct):
    id: UUID
    at: datetime
    text: str
    left_out: str | UnsetType = UNSET


class Other(Struct, kw_only=True):
    at: datetime
    rows: list[Any]
    more: list[int]
    maybe: list[int] | UnsetType = UNSET
    named: int = field(name="$named", default=1)


class Brief(Struct, omit_defaults=True):
    rows: list[int]
    default: int = 1


NOW = datetime(2024, 3, 1, tzinfo=UTC)
ROW = Row(UUID(int=1), NOW, 'é"\n')


def rows(count: int, size: int = 100) -> list[Any]:
    return [Row(UUID(int=n), NOW, "ü" * size) for n in range(count)]


async def body_of(content: Any) -> tuple[bytes, list[bytes]]:
    """Return the whole body, and its pieces if there are several."""
    answer = await encode_response(Response(content))
    if not isinstance(answer, Streamed):
        return cast(bytes, answer.content), []
    pieces = [piece async for piece in cast("AsyncGenerator[bytes]", answer.iterator)]
    return b"".join(pieces), pieces


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        [ROW],
        {"a": 1, "b": [ROW, 2], "c": []},
        Paged(count=1, next=None, previous=None, results=[ROW, ROW]),
        Paged(count=0, next="x", previous=None, results=[]),
        Other(at=NOW, rows=[], more=[1, 2]),
        Other(at=NOW, rows=[None, [1]], more=[], maybe=[]),
        Brief([1, 2]),
        ROW,
    ],
)
async def test_a_small_response_is_encoded_at_once(content: Any) -> None:
    body, pieces = await body_of(content)

    assert body == msgspec.json.encode(content)
    assert pieces == []


@pytest.mark.parametrize(
    "content",
    [
        rows(5_000),
        {"a": rows(5_000), "b": 1},
        Paged(count=5_000, next=None, previous=None, results=rows(5_000)),
        Other(at=NOW, rows=rows(5_000), more=list(range(100_000))),
        Other(at=NOW, rows=rows(1, ENCODED_ON_LOOP_BYTES_MAX), more=[1]),
        rows(3, PIECE_BYTES),
    ],
)
async def test_a_large_response_is_streamed_in_pieces(content: Any) -> None:
    body, pieces = await body_of(content)

    assert body == msgspec.json.encode(content)
    assert len(pieces) > 1
    longest = max(len(msgspec.json.encode(row)) for row in _lists(content))
    assert max(map(len, pieces)) <= PIECE_BYTES + longest + 100


def _lists(content: Any) -> list[Any]:
    if isinstance(content, list):
        return content
    builtins = msgspec.to_builtins(content)
    return [row for value in builtins.values() if isinstance(value, list) for row in value]


async def test_an_asgi_response_is_not_encoded() -> None:
    response = empty_response(204)

    assert await encode_response(response) is response


@pytest.mark.parametrize("content", [b"bytes", "text", None])
async def test_text_and_bytes_are_not_encoded(content: Any) -> None:
    response = Response(content)

    assert await encode_response(response) is response
    assert response.content is content


async def test_a_streamed_response_keeps_its_status_and_headers() -> None:
    response = Response(rows(5_000), status_code=201, headers={"x-a": "b"})

    answer = await encode_response(response)

    assert isinstance(answer, Streamed)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asgi = answer.to_asgi_response(None, cast(Any, None), headers={"x-c": "d"}, status_code=200)
    await asgi({"type": "http", "method": "GET"}, cast(Any, None), send)  # type: ignore[arg-type]
    assert sent[0]["status"] == 201
    assert {(b"x-a", b"b"), (b"x-c", b"d")} <= set(sent[0]["headers"])
    assert b"".join(message["body"] for message in sent[1:]) == msgspec.json.encode(
        response.content
    )
