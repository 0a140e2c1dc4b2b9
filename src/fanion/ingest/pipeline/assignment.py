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


@dataclass(frozen=True, slots=True)
class PartitionChanges:
    """The difference between two assignments of a worker, with partitions in order.

    Attributes:
        taken: Also those that the worker has lost and taken again.
        given_up: Left to other workers.
        lost: Taken by other workers, which took this one to be dead.
    """

    taken: Sequence[int] = ()
    given_up: Sequence[int] = ()
    lost: Sequence[int] = ()


def partition_changes(
    before: Mapping[int, int], own: Sequence[Holding], kept: Sequence[Holding]
) -> PartitionChanges:
    """Return how an assignment changes.

    Args:
        before: The epochs of the partitions that the worker has ingested so far.
        own: What it holds now.
        kept: What of it the worker ingests from now on.
    """
    held = {holding.partition: holding.epoch for holding in own}
    epochs = {holding.partition: holding.epoch for holding in kept}
    lost = [partition for partition, epoch in before.items() if held.get(partition) != epoch]
    return PartitionChanges(
        taken=sorted(
            partition for partition in epochs if before.get(partition) != epochs[partition]
        ),
        given_up=sorted(before.keys() - epochs.keys() - set(lost)),
        lost=sorted(lost),
    )


def ranges_text(partitions: Sequence[int]) -> str:
    """Return numbers in order as text with ranges, such as `1-4, 7`."""
    ranges: list[list[int]] = []
    for partition in partitions:
        if ranges and ranges[-1][1] == partition - 1:
            ranges[-1][1] = partition
        else:
            ranges.append([partition, partition])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


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
