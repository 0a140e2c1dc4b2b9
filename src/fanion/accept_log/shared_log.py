"""The embedded accept log for a process beside the server's: it appends, over a line of its own to
the program that writes the file."""

import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from fanion.accept_log.group_commit import GroupCommit
from fanion.accept_log.port import Envelope, Receipt
from fanion.accept_log.writer_client import WriterChannel, connect


class JoinedLog:
    """wants_line: is called when appends need another line, since the writer has ended; until
    there is one they raise OSError"""

    def __init__(self, wants_line: Callable[[], None]) -> None:
        self._wants_line = wants_line
        self._channel: WriterChannel | None = None
        self._live = GroupCommit(partial(self._commit, historical=False))
        self._historical = GroupCommit(partial(self._commit, historical=True))

    async def join(self, line: socket.socket) -> None:
        former, self._channel = self._channel, await connect(line)
        if former is not None:
            await former.close()

    def append(self, envelope: Envelope) -> Awaitable[int]:
        """As AcceptLog."""
        return self._lane(envelope).append(envelope)

    def append_for(self, receipt: Receipt, envelope: Envelope) -> None:
        self._lane(envelope).append_for(receipt, envelope)

    async def close(self) -> None:
        """Write what still waits, and refuse what comes later (OSError)."""
        await self._live.close()
        await self._historical.close()
        if self._channel is not None:
            await self._channel.close()

    def _lane(self, envelope: Envelope) -> GroupCommit:
        return self._historical if envelope.historical else self._live

    async def _commit(self, envelopes: Sequence[Envelope], *, historical: bool) -> Sequence[int]:
        channel = self._channel
        if channel is None or channel.is_lost:
            self._wants_line()
            raise OSError("accept log: its writer has ended")
        last = await channel.write(envelopes, historical=historical)
        return range(last - len(envelopes) + 1, last + 1)
