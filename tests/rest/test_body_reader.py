"""Multipart forms, read while they arrive."""

from collections.abc import AsyncGenerator, Iterable

import pytest

from fanion.errors import AppError, BodyTooLarge, ParseError
from fanion.rest import body_reader
from fanion.rest.body_reader import EMPTY_BODY, Body, read_form

KIND = "multipart/form-data; boundary=xx"
FILE = b'"quoted\r\n--x",\xc3\xa9\r\n' * 2_000
FORM = (
    b'--xx\r\nContent-Disposition: form-data; name="name"\r\n\r\nfirst\r\n'
    b'--xx\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n' + FILE + b"\r\n"
    b'--xx\r\nContent-Disposition: form-data; name="name"\r\n\r\nAll\r\n--xx--\r\n'
)


async def in_pieces(raw: bytes, size: int) -> AsyncGenerator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


async def read(raw: bytes, size: int = 1000, bytes_max: int = 1_000_000) -> Body:
    return await read_form(in_pieces(raw, size), KIND, bytes_max)


def field(name: str, value: bytes) -> bytes:
    return b'--xx\r\nContent-Disposition: form-data; name="%s"\r\n\r\n%s\r\n' % (
        name.encode(),
        value,
    )


def fields(pairs: Iterable[tuple[str, bytes]]) -> bytes:
    return b"".join(field(name, value) for name, value in pairs) + b"--xx--\r\n"


@pytest.mark.parametrize("size", [7, 64, 1000, len(FORM)])
async def test_a_form_is_the_same_in_any_pieces(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(body_reader, "PIECE_BYTES", size)

    body = await read(FORM, size)

    assert body.form and body.text("name") == "All"
    assert body.files["csv"].read() == FILE
    body.close()
    assert body.files["csv"].closed


async def test_a_long_field_is_a_file_and_no_text() -> None:
    long = b"x" * (body_reader.TEXT_BYTES_MAX + 1)

    body = await read(fields([("a", long), ("b", b"1")]), 65536, 2_000_000)

    assert (body.text("a"), body.text("b")) == (None, "1")
    assert body.files["a"].read() == long
    body.close()


async def test_nothing_at_all_is_an_empty_object() -> None:
    assert await read(b"") == EMPTY_BODY


@pytest.mark.parametrize("end", [50, 200, 5_000, len(FORM) - 6])
async def test_a_form_that_breaks_off_is_refused(end: int) -> None:
    with pytest.raises(ParseError, match="Multipart form parse error"):
        await read(FORM[:end])


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary="])
async def test_a_form_without_a_boundary_is_refused(kind: str) -> None:
    with pytest.raises(ParseError, match="Multipart form parse error"):
        await read_form(in_pieces(FORM, 1000), kind, 1_000_000)


@pytest.mark.parametrize(
    ("raw", "bytes_max", "refused"),
    [
        (FORM, len(FORM) - 1, BodyTooLarge),
        (
            fields((f"{n}", b"") for n in range(body_reader.FORM_FIELDS_MAX + 1)),
            1_000_000,
            ParseError,
        ),
        (fields((f"{n}", b"x" * 1_000_000) for n in range(22)), 30_000_000, BodyTooLarge),
    ],
)
async def test_a_form_beyond_a_limit_is_refused(
    raw: bytes, bytes_max: int, refused: type[AppError]
) -> None:
    with pytest.raises(refused):
        await read(raw, 65536, bytes_max)
