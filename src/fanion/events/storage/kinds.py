"""Kinds of property values: the type that the engine has for each, and how values are written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from math import isfinite
from types import NoneType
from typing import Any, NamedTuple

from fanion.events.storage import native_format

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1

Values = Sequence[Any]
# What is written may come to one column with what was written elsewhere: a list of columns that
# lie one behind the other in it.
Written = tuple[bytes, ...]


class Kind(NamedTuple):
    """type:  the engine's name
    fits:   whether all of some values can be written
    write:  values in the parts that are joined
    joined: what was written, as one column
    """

    type: str
    fits: Callable[[Values], bool]
    write: Callable[[Values], Written]
    joined: Callable[[Sequence[Written]], bytes]


class _Texts(list[str | None]):
    pass


class _Integers(list[int | None]):
    pass


class _Floats(list[float | None]):
    pass


class _Booleans(list[bool | None]):
    pass


def plain(value: Any) -> Any:
    """A scalar as it is, a list as one whose type tells what is in it; None when it has no kind."""
    if type(value) is list:
        value = _list(value)
    kind = KINDS.get(type(value))
    return value if kind is not None and kind.fits([value]) else None


def _list(values: list[Any]) -> object:
    kinds = set(map(type, values)) - {NoneType}
    if kinds == {int, float}:
        if not _are_64_bits([value for value in values if type(value) is int]):
            return None
        return _Floats([None if value is None else float(value) for value in values])
    made = _LISTS.get(kinds.pop() if kinds else str)
    return None if kinds or made is None else made(values)


def _always(_: Values) -> bool:
    return True


def _are_64_bits(numbers: Sequence[int]) -> bool:
    return min(numbers) >= _INT_MIN and max(numbers) <= _INT_MAX


def _are_finite(numbers: Sequence[float]) -> bool:
    """One that is not makes the sum so; huge ones may too, and are left to the engine."""
    return isfinite(sum(numbers))


def _scalar(name: str, fits: Callable[[Values], bool], data: Callable[[Values], bytes]) -> Kind:
    return Kind(
        name,
        fits,
        lambda values: (data(values),),
        lambda parts: b"".join([part for (part,) in parts]),
    )


def _array(
    name: str, fits: Callable[[Values], bool], data: Callable[[Values], bytes], absent: object
) -> Kind:
    """Of items that may be null. absent: what stands in the place of one that is"""

    def hold(lists: Values) -> bool:
        items = [item for item in chain.from_iterable(lists) if item is not None]
        return not items or fits(items)

    def write(lists: Values) -> Written:
        items = list(chain.from_iterable(lists))
        nulls = bytes([item is None for item in items])
        sizes = native_format.unsigned(map(len, lists))
        return sizes, nulls, data([absent if item is None else item for item in items])

    def joined(parts: Sequence[Written]) -> bytes:
        sizes, nulls, items = zip(*parts, strict=True)
        ends = native_format.unsigned(accumulate(native_format.read_unsigned(b"".join(sizes))))
        return b"".join((ends, *nulls, *items))

    return Kind(f"Array(Nullable({name}))", hold, write, joined)


_LISTS: Mapping[type, Callable[[Iterable[Any]], object]] = {
    str: _Texts,
    int: _Integers,
    float: _Floats,
    bool: _Booleans,
}
KINDS: Mapping[type, Kind] = {
    str: _scalar("String", _always, native_format.texts),
    int: _scalar("Int64", _are_64_bits, native_format.signed),
    float: _scalar("Float64", _are_finite, native_format.floats),
    bool: _scalar("Bool", _always, bytes),
    _Texts: _array("String", _always, native_format.texts, ""),
    _Integers: _array("Int64", _are_64_bits, native_format.signed, 0),
    _Floats: _array("Float64", _are_finite, native_format.floats, 0.0),
    _Booleans: _array("Bool", _always, bytes, False),
}
