"""What the engine is to make columns of, of properties that are too deep for it."""

import re
from collections.abc import Iterator

import msgspec

from fanion.events.storage.schema import ARRAY_DEPTH_MAX, OBJECT_DEPTH_MAX


def shallow(properties: bytes) -> bytes:
    """Empty when the properties can be held as columns as they are."""
    return shallow_properties(properties) if _is_deep(properties) else b""


def shallow_properties(properties: bytes) -> bytes:
    """The same, each value that is too deep replaced by its JSON as text."""
    pieces: list[bytes] = []
    end = 0
    for value in _values(properties):
        json = properties[value]
        if _is_deep(json):
            text = msgspec.json.encode(json.strip().decode("utf-8", "replace"))
            pieces += properties[end : value.start], text
            end = value.stop
    return b"".join([*pieces, properties[end:]])


def _values(json: bytes) -> Iterator[slice]:
    """Where the values of an object stand. Nothing recurses: they may be of any depth."""
    depth = start = 0
    for token in _TOKEN.finditer(json):
        mark = json[token.start() : token.start() + 1]
        if mark in b"[{":
            depth += 1
        elif mark in b"]}":
            depth -= 1
        if (depth == 1 and mark == b",") or (depth == 0 and mark == b"}" and start):
            yield slice(start, token.start())
        elif depth == 1 and mark == b":":
            start = token.end()


def _is_deep(json: bytes) -> bool:
    """Counting brackets is enough for nearly all."""
    return (json.count(b"[") > ARRAY_DEPTH_MAX and depth(json, b"[]") > ARRAY_DEPTH_MAX) or (
        json.count(b"{") > OBJECT_DEPTH_MAX and depth(json, b"{}") > OBJECT_DEPTH_MAX
    )


_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]', re.DOTALL)


def depth(json: bytes, brackets: bytes) -> int:
    """How many arrays, or objects, lie within one another at most; strings do not count.

    brackets: the two of the kind that is counted
    """
    opening, closing = brackets
    now = deepest = 0
    for token in _TOKEN.finditer(json):
        mark = json[token.start()]
        if mark == opening:
            now += 1
            deepest = max(deepest, now)
        elif mark == closing:
            now -= 1
    return deepest
