"""Traces of deleted persons in requests that were put aside."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from fanion.ingest.items import read_items
from fanion.ingest.ledger.model import Example
from fanion.ingest.pipeline.prepare import distinct_id_of

SHOWN_WHOLE = 100  # characters; the ledger's 400 bytes hold at least so many

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """body: what may stay of it, None for nothing; items: how many"""

    body: bytes | None
    items: int


def scrubbed(body: bytes, distinct_ids: Collection[str]) -> Scrubbed | None:
    """An accepted body without the items of these users. None when it has none of them.

    One that cannot be read goes as a whole when it names one of them.
    """
    try:
        items = read_items(body)
        remaining = [item for item in items if distinct_id_of(item) not in distinct_ids]
    except Exception:
        # It was put aside because something in it fails: whatever that was may fail here too.
        return Scrubbed(None, 0) if _names_one(body, distinct_ids) else None
    if len(remaining) == len(items):
        return None
    return Scrubbed(_encode(remaining) if remaining else None, len(remaining))


def without_examples(
    examples: Sequence[Example], distinct_ids: Collection[str], upto: datetime
) -> list[Example]:
    """upto: later ones stay"""
    return [
        one
        for one in examples
        if one.received_at > upto or not _begins_one(one.distinct_id, distinct_ids)
    ]


def _begins_one(beginning: str | None, distinct_ids: Collection[str]) -> bool:
    """Examples show only the beginning of long ids."""
    if not beginning or len(beginning) < SHOWN_WHOLE:
        return beginning in distinct_ids
    return any(name.startswith(beginning) for name in distinct_ids)


def _names_one(body: bytes, distinct_ids: Collection[str]) -> bool:
    return any(_encode(name)[1:-1] in body for name in distinct_ids)
