"""Odd values, put at each place of a body that is right."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    5,
    1.5,
    10**15,
    2**63,
    2**64,
    -(2**63) - 1,
    1e308,
    "",
    "x",
    "\U0001f600",
    "a\u0000b",
    [],
    [1],
    ["a"],
    [[]],
    {},
    {"a": 1},
    [{}],
    [None],
]

Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Of the value itself, and of everything in it."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places(inner, (*at, number))


def put(value: Any, at: Place, odd: Any) -> Any:
    """A copy with another value at one place."""
    if not at:
        return odd
    copy = deepcopy(value)
    inner = copy
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = odd
    return copy


def all_odd(value: Any) -> Iterator[Any]:
    for at in places(value):
        for odd in ODD:
            yield put(value, at, odd)


def some_odd(value: Any, each: int) -> Iterator[Any]:
    """For each place as many odd values, others at the next place: all of them have their turn."""
    turn = 0
    for at in places(value):
        for _ in range(each):
            yield put(value, at, ODD[turn % len(ODD)])
            turn += 1
