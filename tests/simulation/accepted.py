"""An accept log in memory, with partitions."""

import asyncio
from collections.abc import Sequence

from fanion.accept_log.port import AcceptLog, Backlog, Envelope, LogEntry, Positions
from fanion.ingest.partitioning import cut
from tests.simulation.network import Link, Network

FEW = 6


class Accepted:
    """The accept log's entries, which every process reads."""

    def __init__(self, network: Network, partitions: int) -> None:
        self.network = network
        self.partitions = partitions
        self.entries: list[LogEntry] = []
        self._last = 0
        self._waiting: list[asyncio.Future[None]] = []

    def append(self, envelope: Envelope) -> list[LogEntry]:
        """Append one entry for each partition, in one transaction."""
        added = []
        for partition, piece in cut(envelope, self.partitions):
            self._last += 1
            added.append(LogEntry(self._last, piece, 0, partition))
        self.entries += added
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        return added

    def behind(self, after: Positions, historical: bool) -> list[LogEntry]:
        return [
            entry
            for entry in self.entries
            if entry.partition in after
            and entry.id > after[entry.partition]
            and entry.envelope.historical == historical
        ]

    def trim(self, upto: Positions, historical: bool) -> None:
        self.entries = [
            entry
            for entry in self.entries
            if entry.envelope.historical != historical or entry.id > upto.get(entry.partition, 0)
        ]

    def appended(self) -> "asyncio.Future[None]":
        waiting: asyncio.Future[None] = self.network.loop.create_future()
        self._waiting.append(waiting)
        return waiting


class SimulatedLog(AcceptLog):
    """A process's connection to the accept log."""

    def __init__(self, accepted: Accepted) -> None:
        self._accepted = accepted
        self.link = Link(accepted.network, OSError)

    @property
    def positions_prefix(self) -> str:
        return ""

    async def read(
        self,
        after: Positions,
        envelopes_max: int,
        bytes_max: int,
        *,
        historical: bool = False,
        upto: Positions | None = None,
    ) -> Sequence[LogEntry]:
        return await self.link.call(self._read, after, historical, upto)

    def _read(
        self, after: Positions, historical: bool, upto: Positions | None
    ) -> Sequence[LogEntry]:
        entries = self._accepted.behind(after, historical)
        if upto is not None:
            return [entry for entry in entries if entry.id <= upto[entry.partition]]
        return entries[: self._accepted.network.random.randint(1, FEW)]

    async def trim(self, upto: Positions, *, historical: bool = False) -> None:
        await self.link.call(self._accepted.trim, upto, historical)

    async def backlog(self, after: Positions, *, historical: bool = False) -> Backlog:
        raise NotImplementedError

    async def appended(self, after: Positions, *, historical: bool = False) -> None:
        while True:
            # Registered first, because an append may come while the answer is on its way.
            appended = self._accepted.appended()
            if await self.link.call(self._accepted.behind, after, historical):
                return
            await appended

    def append_for(self, completion: object, envelope: Envelope) -> None:
        raise NotImplementedError

    async def append(self, envelope: Envelope) -> int:
        raise NotImplementedError

    async def close(self) -> None:
        raise NotImplementedError
