"""Blocks of events for the shards of a cluster: each has the events of one shard."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from fanion.events.event import Event, GroupRow, Override, PersonRow
from fanion.events.storage.encoder import Block, EventEncoder


class ShardEncoder(EventEncoder):
    """An encoder that divides events among shards and lets another one encode them.

    Args:
        slots: The number of the shard for each remainder of the sharding key.
    """

    has_drafts = False

    def __init__(self, encoder: EventEncoder, slots: Sequence[int]) -> None:
        super().__init__(encoder.rows_max, encoder.bytes_max)
        self._encoder = encoder
        self._slots = slots
        self.version = f"{encoder.version}s{'.'.join(map(str, slots))}"

    def event_blocks(self, events: Iterable[Event], count: int = 0) -> Iterator[Block]:
        every = list(events)
        if not every:
            return
        # Only clusters need NumPy here.
        from fanion.events.storage.shard_hash import divided

        for number, places in divided(every, self._slots).items():
            own = [every[place] for place in places]
            for block in self._encoder.event_blocks(own, len(own)):
                yield replace(block, shard=number)

    def person_blocks(self, persons: Sequence[PersonRow]) -> tuple[Block, ...]:
        return self._encoder.person_blocks(persons)

    def group_blocks(self, groups: Sequence[GroupRow]) -> tuple[Block, ...]:
        return self._encoder.group_blocks(groups)

    def override_blocks(self, overrides: Sequence[Override]) -> tuple[Block, ...]:
        return self._encoder.override_blocks(overrides)
