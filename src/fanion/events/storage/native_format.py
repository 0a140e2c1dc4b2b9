"""Values and columns in the engine's Native format.

A column is written value after value. Numbers are little-endian, as on every machine on which the
embedded engine runs. Times are microseconds since 1970, of the years 1900 to 2299.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
MICROS_MIN = (datetime(1900, 1, 1, tzinfo=UTC) - EPOCH) // _MICROSECOND
MICROS_MAX = (datetime(2299, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH) // _MICROSECOND
_LENGTHS_KNOWN = 1 << 14


class Column(NamedTuple):
    """An encoded column.

    Attributes:
        type: The engine's name for its type.
        data: The data of all rows, in parts.
    """

    name: str
    type: str
    data: Sequence[bytes]


class ColumnType(NamedTuple):
    """A type of columns.

    Attributes:
        name: The engine's name for it.
        write: Encodes the values of all rows; may raise OverflowError.
    """

    name: str
    write: Callable[[Any], bytes]


def columns(*given: tuple[str, ColumnType, Sequence[Any]]) -> tuple[Column, ...]:
    """Encode columns, given the name, type and values of each.

    Raises:
        OverflowError: A number does not fit its column.
    """
    return tuple([Column(name, type_.name, (type_.write(rows),)) for name, type_, rows in given])


def joined(parts: Sequence[Sequence[Column]]) -> list[Column]:
    """Concatenate the rows of parts that have the same columns."""
    return [
        Column(
            first.name, first.type, [data for column in (first, *others) for data in column.data]
        )
        for first, *others in zip(*parts, strict=True)
    ]


def block(columns: Sequence[Column], rows: int, more: int = 0) -> bytes:
    """Encode a block.

    Args:
        more: Number of columns that `with_columns` appends later.
    """
    head = (length(len(columns) + more), length(rows))
    return b"".join((*head, *chain.from_iterable(map(_written, columns))))


def with_columns(block: bytes, *given: tuple[str, ColumnType, Sequence[Any]]) -> bytes:
    """Append columns to a block that was encoded with `more` set to their number."""
    return b"".join((block, *chain.from_iterable(map(_written, columns(*given)))))


def _written(column: Column) -> Sequence[bytes]:
    return text(column.name), text(column.type), *column.data


def unsigned(numbers: Iterable[int]) -> bytes:
    """Encode numbers as UInt64.

    Raises:
        OverflowError: A number does not fit.
    """
    return array("Q", numbers).tobytes()


def read_unsigned(data: bytes) -> Sequence[int]:
    return array("Q", data)


def signed(numbers: Iterable[int]) -> bytes:
    """Encode numbers as Int64, or times in microseconds.

    Raises:
        OverflowError: A number does not fit.
    """
    return array("q", numbers).tobytes()


def micros(time: datetime) -> int:
    """Return microseconds since 1970, limited to the years that the engine can store."""
    return _limited((time - EPOCH) // _MICROSECOND)


def all_micros(times: Iterable[datetime]) -> list[int]:
    """Return `micros` of many times, in half of the time."""
    exact = [(time - EPOCH) // _MICROSECOND for time in times]
    if exact and (min(exact) < MICROS_MIN or max(exact) > MICROS_MAX):
        return list(map(_limited, exact))
    return exact


def _limited(exact: int) -> int:
    return max(MICROS_MIN, min(MICROS_MAX, exact))


def floats(numbers: Iterable[float]) -> bytes:
    return array("d", numbers).tobytes()


def uuids(values: Iterable[UUID]) -> bytes:
    """Encode UUIDs, each as two little-endian halves."""
    halves = array("Q", b"".join([value.int.to_bytes(16) for value in values]))
    halves.byteswap()
    return halves.tobytes()


def texts(values: Sequence[str]) -> bytes:
    """Encode texts. Repeated values are encoded once."""
    if values and values.count(values[0]) == len(values):
        return text(values[0]) * len(values)
    different = list(set(values))
    if len(different) * 2 > len(values):
        return blobs(_encoded(values))
    written = [length(len(raw)) + raw for raw in _encoded(different)]
    known = dict(zip(different, written, strict=True))
    return b"".join(map(known.__getitem__, values))


def blobs(values: Sequence[bytes]) -> bytes:
    """Encode values of type String, of any bytes."""
    sizes = list(map(len, values))
    lengths = map(length if max(sizes, default=0) >= _LENGTHS_KNOWN else _known, sizes)
    return b"".join(chain.from_iterable(zip(lengths, values, strict=True)))


def text(value: str) -> bytes:
    raw = value.encode(errors="replace")
    return length(len(raw)) + raw


@lru_cache(maxsize=4096)
def length(n: int) -> bytes:
    """Encode a length as LEB128, as the engine writes the length of a string."""
    if n < 0x80:
        return _SHORT[n]
    return _SHORT[0x80 | n & 0x7F] + length(n >> 7)


def _encoded(values: Sequence[str]) -> list[bytes]:
    try:
        return list(map(str.encode, values))
    except UnicodeEncodeError:
        return [value.encode(errors="replace") for value in values]


_SHORT = tuple(bytes((n,)) for n in range(256))
_known = tuple(map(length, range(_LENGTHS_KNOWN))).__getitem__

UINT8 = ColumnType("UInt8", bytes)
UINT64 = ColumnType("UInt64", unsigned)
INT64 = ColumnType("Int64", signed)
FLOAT64 = ColumnType("Float64", floats)
BOOL = ColumnType("Bool", bytes)
UUIDS = ColumnType("UUID", uuids)
TEXT = ColumnType("String", texts)
BYTES = ColumnType("String", blobs)
MICROSECONDS = ColumnType("DateTime64(6, 'UTC')", signed)
