"""Rows as one INSERT of the event store takes them, in one of two formats.

Native is the engine's own, with the properties as columns already; it is written for the versions
whose bytes are known. Text is what every version reads, and costs the engine more.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from msgspec import Struct

from fanion.events.event import Event, Override, PersonRow

# Each is a part to merge: merges took 20 µs an event of blocks of 14,000, and take 6 to 10.
BLOCK_ROWS_MAX = 40_000
BLOCK_BYTES_MAX = 64 * 2**20


class Block(Struct, frozen=True, gc=False):
    """Rows that are stored whole or not at all. format: of data, in the engine's words"""

    columns: tuple[str, ...]
    data: bytes
    format: str = "Native"


class Batch(Struct, frozen=True, gc=False):
    """What is inserted together."""

    events: tuple[Block, ...]
    persons: tuple[Block, ...] = ()
    overrides: tuple[Block, ...] = ()


class EventEncoder(ABC):
    """Pure, and the same blocks for the same rows: a repetition is recognised block by block.

    version:             part of the deduplication token of an insert; it must change when the same
                         events come to other blocks
    has_drafts:   whether blocks can be made by another process, all but their persons
    rows_max, bytes_max: of one block of events
    """

    version: str
    has_drafts: bool

    def __init__(self, rows_max: int = BLOCK_ROWS_MAX, bytes_max: int = BLOCK_BYTES_MAX) -> None:
        self.rows_max = rows_max
        self.bytes_max = bytes_max

    def batch(
        self,
        events: Iterable[Event] = (),
        persons: Sequence[PersonRow] = (),
        overrides: Sequence[Override] = (),
    ) -> Batch:
        """raises: EventRejected when a number does not fit its column"""
        return Batch(
            tuple(self.event_blocks(events)),
            self.person_blocks(persons),
            self.override_blocks(overrides),
        )

    @abstractmethod
    def event_blocks(self, events: Iterable[Event], count: int = 0) -> Iterator[Block]:
        """Each block is made when it is asked for.

        count:  of the events; when it is known, none of the blocks is much smaller than the others
        raises: EventRejected when a number does not fit its column
        """

    @abstractmethod
    def person_blocks(self, persons: Sequence[PersonRow]) -> tuple[Block, ...]:
        """raises: EventRejected when a number does not fit its column"""

    @abstractmethod
    def override_blocks(self, overrides: Sequence[Override]) -> tuple[Block, ...]:
        """raises: EventRejected when a number does not fit its column"""


def even_rows(count: int, rows_max: int) -> int:
    """Rows a block, when `count` of them, more than `rows_max`, are cut into equal blocks."""
    return ceil(count / ceil(count / rows_max))
