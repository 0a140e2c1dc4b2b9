"""Multipart forms, which are read while they arrive."""

from collections.abc import AsyncGenerator, Iterable
from pathlib import Path

import pytest

from fanion.errors import AppError, BodyTooLarge, ParseError
from fanion.rest import body_reader
from fanion.rest.body_reader import EMPTY_BODY, Body, read_form
from fanion.server.errors import Overloaded

KIND = "multipart/form-data; boundary=xx"
FILE = b'"quoted\r\n--x",\xc3\xa9\r\n' * 2_000
FORM = (
    b'--xx\r\nContent-Disposition: form-data; name="name"\r\n\r\nfirst\r\n'
    b'--xx\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n' + FILE + b"\r\n"
    b'--xx\r\nContent-Disposition: form-data; name="name"\r\n\r\nAll\r\n--xx--\r\n'
)


def nothing_counted(memory: int, disk: int) -> None:
    pass


async def in_pieces(raw: bytes, size: int) -> AsyncGenerator[bytes]:
    for start in range(0, len(raw), size):
        yield raw[start : start + size]


async def read(raw: bytes, size: int = 1000, bytes_max: int = 1_000_000) -> Body:
    return await read_form(in_pieces(raw, size), KIND, bytes_max, nothing_counted)


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
        await read_form(in_pieces(FORM, 1000), kind, 1_000_000, nothing_counted)


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


async def test_what_a_form_holds_is_counted_in_memory_and_on_disk(tmp_path: Path) -> None:
    counted: list[tuple[int, int]] = []
    text, file = b"t" * 900_000, b"f" * 3_000_000
    raw = fields([("a", text), ("b", file), ("a", text)])

    body = await read_form(
        in_pieces(raw, 65536),
        KIND,
        5_000_000,
        lambda memory, disk: counted.append((memory, disk)),
        str(tmp_path),
    )

    on_disk = body.files["b"]
    assert (body.text("a"), body.text("b")) == (text.decode(), None)
    assert _place_of(on_disk.fileno()).parent == tmp_path
    assert _files_in(tmp_path) == []  # the file has no name
    memory, disk = counted[-1]
    assert disk == len(file)
    assert 2 * len(text) < memory < 2 * len(text) + 10_000  # as bytes, and as text
    assert max(held for held, _ in counted) < 2 * len(text) + len(file)
    body.close()


def _place_of(descriptor: int) -> Path:
    return Path(f"/proc/self/fd/{descriptor}").readlink()


def _files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_form_that_may_not_be_held_is_given_up() -> None:
    taken: list[int] = []

    def refuse(memory: int, disk: int) -> None:
        taken.append(memory + disk)
        if memory + disk > 500_000:
            raise Overloaded("full")

    async def endless() -> AsyncGenerator[bytes]:
        yield field("a", b"")[:-2]
        while True:
            yield b"x" * 65536

    with pytest.raises(Overloaded):
        await read_form(endless(), KIND, 10**12, refuse)

    assert max(taken) < 600_000
