"""The assignment of the accept log's partitions to workers.

Each worker gets an equal share. Batches that a dead worker had claimed are repeated whole.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Holding:
    """A partition and its lease.

    Attributes:
        holder: The worker that had it last; "" after it was released.
        is_alive: Whether the holder is alive.
        is_claimed: Whether entries of it belong to a batch that was claimed and is not completed.
    """

    partition: int
    epoch: int
    holder: str
    is_alive: bool
    is_claimed: bool


@dataclass(frozen=True, slots=True)
class Assignment:
    """The partitions that a worker ingests.

    Attributes:
        version: Grows with each change.
        epochs: The epoch of the lease of each partition.
    """

    version: int = 0
    epochs: Mapping[int, int] = field(default_factory=dict)


def fair_share(partitions: int, workers: int) -> int:
    """Return the largest number of partitions that one living worker takes."""
    return -(-partitions // max(1, workers))


def partitions_to_take(holdings: Sequence[Holding], worker: str, workers: int) -> list[int]:
    """Return the partitions that a worker should take now.

    The partitions of a batch that a dead worker had claimed are taken together, even if they exceed
    the worker's share: only the whole batch can be repeated as it was.
    """
    own = sum(holding.holder == worker for holding in holdings)
    room = fair_share(len(holdings), workers) - own
    free = [holding for holding in holdings if holding.holder != worker and not holding.is_alive]
    if room <= 0 or not free:
        return []
    claimed = [holding for holding in free if holding.is_claimed]
    if claimed:
        return [holding.partition for holding in claimed if holding.holder == claimed[0].holder]
    return [holding.partition for holding in free[:room]]


def holdings_to_keep(holdings: Sequence[Holding], worker: str, workers: int) -> list[Holding]:
    """Return the partitions of a worker, up to its share."""
    own = [holding for holding in holdings if holding.holder == worker]
    return own[: fair_share(len(holdings), workers)]
