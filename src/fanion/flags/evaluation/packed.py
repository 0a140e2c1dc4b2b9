"""Rows of flags as bytes: kept for documents that are asked for now and then, and to tell which
flags a change has left as they were."""

from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import msgspec

from fanion.flags.engine.definition import FlagRow

_encode = msgspec.msgpack.Encoder().encode
# Without types: whatever is stored is told as it is, odd filters too.
_decode = msgspec.msgpack.Decoder().decode

# A row that does not fit, such as one with a number beyond 64 bits, stays as it is.
Packed = bytes | FlagRow


class PackedRows(Sequence[FlagRow]):
    """Read like a list, each row made when it is looked at.

    A flag of two conditions takes 509 bytes, in place of 2,810 as objects (tracemalloc).
    """

    __slots__ = ("packed",)

    def __init__(self, rows: Iterable[FlagRow]) -> None:
        self.packed: tuple[Packed, ...] = tuple(map(_pack, rows))

    def __len__(self) -> int:
        return len(self.packed)

    def __iter__(self) -> Iterator[FlagRow]:
        return map(_unpack, self.packed)

    @overload
    def __getitem__(self, place: int) -> FlagRow: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[FlagRow]: ...
    def __getitem__(self, place: int | slice) -> FlagRow | Sequence[FlagRow]:
        if isinstance(place, slice):
            return [_unpack(one) for one in self.packed[place]]
        return _unpack(self.packed[place])


def written(rows: object) -> list[msgspec.Raw | FlagRow]:
    """What a msgpack encoder writes for packed rows, which it does not know."""
    if not isinstance(rows, PackedRows):
        raise NotImplementedError(f"nothing is known of {type(rows).__name__}")
    return [msgspec.Raw(one) if isinstance(one, bytes) else one for one in rows.packed]


def _pack(row: FlagRow) -> Packed:
    try:
        return _encode(row)
    except (OverflowError, TypeError, ValueError, RecursionError):
        return row


def _unpack(one: Packed) -> FlagRow:
    return one if isinstance(one, FlagRow) else FlagRow(**_decode(one))
