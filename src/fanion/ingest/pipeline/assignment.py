"""Which worker ingests which partitions of the accept log: equal shares, and the batches that a
dead worker had claimed are repeated whole."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Holding:
    """A partition and its lease.

    holder:     the worker that had it last; "" after it was released
    is_alive:   the holder is
    is_claimed: entries of it belong to a batch that was claimed and is not completed
    """

    partition: int
    epoch: int
    holder: str
    is_alive: bool
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a worker ingests. epochs: by partition; version: grows with each change"""

    version: int = 0
    epochs: Mapping[int, int] = field(default_factory=dict)


def share(partitions: int, workers: int) -> int:
    """The most that each of the living workers takes."""
    return -(-partitions // max(1, workers))


def to_take(holdings: Sequence[Holding], worker: str, workers: int) -> list[int]:
    """The partitions that a worker should take now.

    Those of a batch that a dead worker had claimed are taken together, even if they are more than
    its share: only the whole batch can be repeated as it was.
    """
    own = sum(one.holder == worker for one in holdings)
    room = share(len(holdings), workers) - own
    free = [one for one in holdings if one.holder != worker and not one.is_alive]
    if room <= 0 or not free:
        return []
    claimed = [one for one in free if one.is_claimed]
    if claimed:
        return [one.partition for one in claimed if one.holder == claimed[0].holder]
    return [one.partition for one in free[:room]]


def to_keep(holdings: Sequence[Holding], worker: str, workers: int) -> list[Holding]:
    """The partitions of a worker that are not above its share."""
    own = [one for one in holdings if one.holder == worker]
    return own[: share(len(holdings), workers)]
