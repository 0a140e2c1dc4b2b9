"""Outlines large JSON bodies: reads the members that decide about a request, a window at a time,
and skips the others, so that little of a body is in memory at once."""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

from fanion.wire.incremental_json import Kind, Piece, PullParser

# Stands for the content that an outline leaves out.
ANYTHING = "…"
PROPERTIES = "properties"
_TOKEN = frozenset({"token"})


@dataclass(slots=True)
class Outline:
    """value: an object with the requested names alone; an array as [], or [ANYTHING] if it has
           elements; another value whole
    bytes: estimate of the memory that all of it takes up as Python objects
    """

    value: Any
    bytes: int


def outline_of(data: bytes, names: Set[str]) -> Outline:
    """Reads all of the data. raises: InvalidPayload"""
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
    """Members with these names of the object that was just opened; {} when it is empty."""
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
    """A value without its content: `properties` with the token alone, other objects and arrays
    with ANYTHING unless they are empty."""
    if kind is Kind.VALUE:
        return value
    if key == PROPERTIES and isinstance(value, dict):
        return outline_object(pieces, _TOKEN)
    if not _skip(pieces):
        return value
    return {ANYTHING: None} if isinstance(value, dict) else [ANYTHING]


def _skip(pieces: Iterator[Piece]) -> bool:
    """Read the container that was just opened to its end. False if it was empty."""
    depth, count = 1, 0
    for kind, _ in pieces:
        count += 1
        depth += (kind is Kind.OPEN) - (kind is Kind.CLOSE)
        if depth == 0:
            break
    return count > 1
