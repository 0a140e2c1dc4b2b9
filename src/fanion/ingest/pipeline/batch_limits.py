"""Bounds what is ingested at once by the memory that it takes, which the size of the bodies hardly
shows."""

import builtins
from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from fanion.accept_log.port import LogEntry
from fanion.errors import AppError
from fanion.ingest.items import parse_uuid, read_items
from fanion.ingest.pipeline.types import Context

# What a byte of JSON, an object and a list come to, once prepared and on the way to the event
# store. Of a MB each: events of 30 bytes took 1.1 of what is reckoned so, ordinary ones 1.0, items
# that are dropped 0.3, lists of lists 0.9, numbers 2.6.
TEXT_FACTOR, OBJECT_BYTES, LIST_BYTES = 8, 700, 64
# Where places of addresses are looked up, each event and its person get 13 properties more.
LOCATED_OBJECT_BYTES = 4_000
# 190,000 of the smallest events. Batches of ordinary ones, of 200 bytes and more, end at their
# 16 MiB of text before.
EXPANDED_BYTES_MAX = 256 * 2**20


class Budget(Struct, frozen=True):
    """Of what is ingested at once. bytes: as reckoned; object_bytes: for each object"""

    bytes: int = EXPANDED_BYTES_MAX
    object_bytes: int = OBJECT_BYTES

    def cost(self, body: builtins.bytes) -> int:
        """About as much memory as its events take while they are ingested. This takes 0.7 ms a
        MB."""
        objects, lists = body.count(b"{"), body.count(b"[")
        return len(body) * TEXT_FACTOR + objects * self.object_bytes + lists * LIST_BYTES

    def exceeds(self, entries: Sequence[LogEntry]) -> bool:
        """Whether they come to more."""
        return sum(self.cost(entry.envelope.body) for entry in entries) > self.bytes

    def surely_takes(self, entries: Sequence[LogEntry]) -> bool:
        """Whether the length of their bodies alone shows that they do not exceed it."""
        size = sum(len(entry.envelope.body) for entry in entries)
        return size <= self.bytes // (TEXT_FACTOR + self.object_bytes)

    def half(self) -> "Budget":
        return Budget(self.bytes // 2, self.object_bytes)


def within(entries: Sequence[LogEntry], budget: Budget) -> Sequence[LogEntry]:
    """The first ones that come to no more, or the first one alone."""
    size = 0
    for number, entry in enumerate(entries):
        size += budget.cost(entry.envelope.body)
        if number and size > budget.bytes:
            return entries[:number]
    return entries


class _Batch(Struct, gc=False):
    batch: list[Raw] | None = None


def pieces(entry: LogEntry, start: int, budget: Budget) -> list[LogEntry]:
    """The items from `start` on, in pieces that come to no more each, or have one item. The same
    again after any of them: a piece does not depend on those before it.

    One that is no list of items, or cannot be read, is one piece.
    """
    items = _raw_items(entry.envelope.body)
    if not items:
        return [entry]
    found: list[LogEntry] = []
    for some in _cut(items[start:], budget):
        body = b"[" + b",".join(some) + b"]"
        found.append(replace(entry, start=start, envelope=replace(entry.envelope, body=body)))
        start += len(some)
    return found


def named_before(entry: LogEntry, start: int) -> set[UUID]:
    """The ids that the client gave to the items before `start`."""
    return set() if start == 0 else ids_of((_raw_items(entry.envelope.body) or [])[:start])


def ids_of(items: Collection[Raw]) -> set[UUID]:
    given = (msgspec.json.decode(item, type=_Named).uuid for item in items)
    return {uuid for one in given if one and (uuid := parse_uuid(one))}


def with_ids(piece: LogEntry) -> LogEntry:
    """The same items, each with the id under which it is stored, as it would be had it stayed in
    its envelope; a body that cannot be read as it is."""
    envelope = piece.envelope
    context = Context(envelope.project_id, piece.id, envelope.received_at)
    try:
        items = [
            item if item.get("uuid") else {**item, "uuid": context.make_uuid(index)}
            for index, item in enumerate(read_items(envelope.body), piece.start)
        ]
    except (AppError, ValueError, RecursionError):
        return piece
    return replace(piece, start=0, envelope=replace(envelope, body=msgspec.json.encode(items)))


class _Named(Struct, gc=False):
    uuid: Any = None


def _raw_items(body: bytes) -> list[Raw] | None:
    try:
        if body[:1] == b"[":
            return msgspec.json.decode(body, type=list[Raw])
        return msgspec.json.decode(body, type=_Batch).batch
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _cut(items: Sequence[Raw], budget: Budget) -> Iterator[list[Raw]]:
    some: list[Raw] = []
    size = 0
    for item in items:
        cost = budget.cost(bytes(item))
        if some and size + cost > budget.bytes:
            yield some
            some, size = [], 0
        some.append(item)
        size += cost
    if some:
        yield some
