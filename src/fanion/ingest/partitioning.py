"""The choice of an accept log partition for each item.

All items of a distinct id go to the same partition, so that they are ingested in the order in
which they were accepted.
"""

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import msgspec
from msgspec import Raw, Struct, structs

from fanion.accept_log.port import Envelope
from fanion.wire.distinct_id import stored_distinct_id


class _Properties(Struct, gc=False):
    distinct_id: Any = None


class _Item(Struct, gc=False):
    uuid: Any = None
    distinct_id: Any = None
    given: Any = msgspec.field(default=None, name="$distinct_id")
    properties: _Properties | None = None


class _Body(_Item):
    batch: list[Raw] | None = None


_decode_body = msgspec.json.Decoder(_Body).decode
_decode_items = msgspec.json.Decoder(list[Raw]).decode
_decode_item = msgspec.json.Decoder(_Item).decode


def cut(envelope: Envelope, partitions: int) -> Sequence[tuple[int, Envelope]]:
    """Split an envelope into one for each partition, in the order of their first items.

    An envelope that cannot be read, or whose items all go to one partition, stays as it is.
    """
    of_project = crc32(f"{envelope.project_id}:".encode())
    try:
        items = _items(envelope.body)
        if isinstance(items, _Item):
            return [(_partition(of_project, items, partitions), envelope)]
        pieces: dict[int, list[Raw]] = {}
        for item in items:
            number = _partition(of_project, _decode_item(item), partitions)
            pieces.setdefault(number, []).append(item)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pieces = {}
    if len(pieces) < 2:
        return [(next(iter(pieces), _partition_of_id(of_project, "", partitions)), envelope)]
    return [
        (number, structs.replace(envelope, body=b"[" + b",".join(raw_items) + b"]"))
        for number, raw_items in pieces.items()
    ]


def cut_named(envelope: Envelope, partitions: int) -> Sequence[tuple[int, Envelope]]:
    """Split an envelope as `cut` does if all of its items have a UUID.

    Pieces that are not appended together may be appended in part. Their client then repeats all
    of them, and ingestion drops what it has by the UUIDs. Without these, the envelope stays whole
    and goes to the partition of its first item.
    """
    pieces = cut(envelope, partitions)
    if len(pieces) < 2 or _are_named(envelope.body):
        return pieces
    return [(pieces[0][0], envelope)]


def _are_named(body: bytes) -> bool:
    items = _items(body)
    assert not isinstance(items, _Item), "it was split"
    return all(_decode_item(item).uuid for item in items)


def _items(body: bytes) -> _Item | list[Raw]:
    if body[:1] == b"[":
        return _decode_items(body)
    read = _decode_body(body)
    return read if read.batch is None else read.batch


def _partition(of_project: int, item: _Item, partitions: int) -> int:
    """Return the partition of an item, whose distinct id is found as in `prepare.distinct_id_of`.

    Args:
        of_project: Checksum of the project, which the distinct id's checksum continues.
    """
    properties = item.properties.distinct_id if item.properties is not None else None
    given = item.given or properties or item.distinct_id or ""
    return _partition_of_id(of_project, given, partitions)


def _partition_of_id(of_project: int, distinct_id: Any, partitions: int) -> int:
    key = stored_distinct_id(distinct_id).encode("utf-8", "surrogatepass")
    return crc32(key, of_project) % partitions + 1
