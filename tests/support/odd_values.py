"""Odd values, put at each place of a valid body."""

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


def places_in(value: Any, at: Place = ()) -> Iterator[Place]:
    """Yield the place of the value itself, and of everything in it."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places_in(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from places_in(inner, (*at, number))


def with_value_at(value: Any, at: Place, odd: Any) -> Any:
    """Return a copy with another value at one place."""
    if not at:
        return odd
    copy = deepcopy(value)
    inner = copy
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = odd
    return copy


def all_odd_values(value: Any) -> Iterator[Any]:
    for at in places_in(value):
        for odd in ODD:
            yield with_value_at(value, at, odd)


def some_odd_values(value: Any, each: int) -> Iterator[Any]:
    """Yield `each` odd values for each place; the next place continues the list of odd values."""
    turn = 0
    for at in places_in(value):
        for _ in range(each):
            yield with_value_at(value, at, ODD[turn % len(ODD)])
            turn += 1
