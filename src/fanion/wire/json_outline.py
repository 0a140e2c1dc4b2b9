"""The outlines of large JSON bodies: the members that decide about a request, without the rest.

Bodies are read one window at a time, so that only a little of a body is in memory at once.
"""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from fanion.wire.incremental_json import Kind, Piece, PullParser

# The mark instead of content that an outline leaves out.
ANYTHING = "…"
PROPERTIES = "properties"
_TOKEN = frozenset({"token"})


@dataclass(slots=True)
class Outline:
    """The outline of a JSON value.

    Attributes:
        value: An object with only the requested names; an array as [], or [ANYTHING] if it has
            elements; another value whole.
        bytes: Estimate of the memory that the whole value takes as Python objects.
    """

    value: Any
    bytes: int


def outline_of(data: bytes, names: Set[str]) -> Outline:
    """Return the outline of the data, all of which is read.

    Raises:
        InvalidPayload: The data is not JSON.
    """
    parser = PullParser(data)
    pieces = iter(parser)
    kind, value = next(pieces)
    if kind is Kind.OPEN and isinstance(value, dict):
        value = outline_object(pieces, names)
    elif kind is Kind.OPEN:
        value = outline_value(kind, "", value, pieces)
    for _ in pieces:
        pass
    return Outline(value, parser.cost)


def outline_object(pieces: Iterator[Piece], names: Set[str]) -> dict[str, Any]:
    """Return the members with these names of the object that was just opened; {} if it is empty."""
    outline: dict[str, Any] = {}
    key = ""
    for kind, value in pieces:
        if kind is Kind.CLOSE:
            break
        if kind is Kind.KEY:
            key = value
        elif kind is Kind.RUN:
            add_members(outline, value, names)
        else:
            add_members(outline, {key: outline_value(kind, key, value, pieces)}, names)
    return outline


def add_members(outline: dict[str, Any], members: dict[str, Any], names: Set[str]) -> None:
    outline.update((name, members[name]) for name in names & members.keys())
    outline.setdefault(ANYTHING, None)  # distinguishes an object with other members from {}


def outline_value(kind: Kind, key: str, value: Any, pieces: Iterator[Piece]) -> Any:
    """Return a value without its content.

    `properties` keep only the token; other objects and arrays get ANYTHING unless they are empty.
    """
    if kind is Kind.VALUE:
        return value
    if key == PROPERTIES and isinstance(value, dict):
        return outline_object(pieces, _TOKEN)
    if not _skip_container(pieces):
        return value
    return {ANYTHING: None} if isinstance(value, dict) else [ANYTHING]


def _skip_container(pieces: Iterator[Piece]) -> bool:
    """Read the container that was just opened to its end, and return False if it was empty."""
    depth, count = 1, 0
    for kind, _ in pieces:
        count += 1
        depth += (kind is Kind.OPEN) - (kind is Kind.CLOSE)
        if depth == 0:
            break
    return count > 1
