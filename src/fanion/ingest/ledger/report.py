"""Summaries of the ledger, as the API and the command line show them."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from msgspec import Struct

from fanion.ingest.ledger.model import (
    DEAD_LETTER,
    DISCARDED,
    MEANING,
    STORED,
    LedgerCount,
    NotMade,
    time_of,
)
from fanion.ingest.pipeline.types import Drop


class Totals(Struct, kw_only=True):
    """Items. `accepted` is the sum of the others: whatever was answered with 200 and does not
    wait in the log is one of them."""

    accepted: int = 0
    stored: int = 0
    duplicates: int = 0
    dropped: int = 0
    dead_lettered: int = 0


class Minute(Struct, kw_only=True):
    minute: datetime
    accepted: int
    stored: int
    duplicates: int
    dropped: int
    dead_lettered: int


class Reason(Struct, frozen=True):
    """Why `items` were not stored, or why stored ones did not change their person or group."""

    reason: str
    meaning: str
    items: int


def totals_of(counts: Iterable[LedgerCount]) -> Totals:
    totals = Totals()
    for one in counts:
        if one.outcome in _CHANGES:
            continue
        name = _COLUMN.get(one.outcome, "dropped")
        setattr(totals, name, getattr(totals, name) + one.items)
        totals.accepted += one.items
    return totals


def minutes_of(counts: Iterable[LedgerCount]) -> list[Minute]:
    """counts: in the order of their minutes"""
    by_minute: dict[int, list[LedgerCount]] = {}
    for one in counts:
        if one.outcome not in _CHANGES:
            by_minute.setdefault(one.minute, []).append(one)
    return [_minute(minute, of_minute) for minute, of_minute in by_minute.items()]


def reasons_of(counts: Iterable[LedgerCount]) -> list[Reason]:
    """All but being stored, the most frequent first."""
    return _summed(one for one in counts if one.outcome != STORED and one.outcome not in _CHANGES)


def not_made_of(counts: Iterable[LedgerCount]) -> list[Reason]:
    """Changes that stored events did not make, the most frequent first."""
    return _summed(one for one in counts if one.outcome in _CHANGES)


def _summed(counts: Iterable[LedgerCount]) -> list[Reason]:
    items: Counter[str] = Counter()
    for one in counts:
        items[one.outcome] += one.items
    return [
        Reason(outcome, MEANING.get(outcome, outcome), number)
        for outcome, number in sorted(items.items(), key=lambda pair: (-pair[1], pair[0]))
        if number
    ]


_CHANGES = frozenset(map(str, NotMade))
_COLUMN = {
    STORED: "stored",
    Drop.DUPLICATE: "duplicates",
    DEAD_LETTER: "dead_lettered",
    DISCARDED: "dropped",
}


def _minute(minute: int, counts: list[LedgerCount]) -> Minute:
    totals = totals_of(counts)
    return Minute(
        minute=time_of(minute),
        accepted=totals.accepted,
        stored=totals.stored,
        duplicates=totals.duplicates,
        dropped=totals.dropped,
        dead_lettered=totals.dead_lettered,
    )
