"""Back-pressure between this process and its clients: how much it buffers, and how fast transfers
must go on."""

import asyncio
from collections.abc import Callable
from typing import cast

from fanion.server.errors import ClientDisconnected

BUFFERED_BYTES_MAX = 256 * 1024 * 1024  # a dozen of the largest batches at once

STALLED_S_MAX = 60.0  # of a transfer without progress
# Of a transfer over any longer time: a hundredth of a bad mobile connection.
BYTES_PER_S_MIN = 500


class BufferBudget:
    """One budget for all connections of a process."""

    def __init__(self, bytes_max: int = BUFFERED_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.held = 0

    def take(self, size: int) -> bool:
        """False, and nothing is taken, when that much is not free."""
        if self.held + size > self.bytes_max:
            return False
        self.held += size
        return True

    def give(self, size: int) -> None:
        self.held -= size


class Pace:
    """Whether one transfer has the minimum rate.

    Bytes that have moved postpone the deadline by the time that they may take, up to STALLED_S_MAX
    from now. All times are seconds of one monotonic clock.
    """

    __slots__ = ("deadline",)

    def __init__(self, now: float) -> None:
        self.deadline = now + STALLED_S_MAX

    def moved(self, size: int, now: float) -> None:
        self.deadline = min(now + STALLED_S_MAX, self.deadline + size / BYTES_PER_S_MIN)

    def postpone(self, seconds: float) -> None:
        """Time in which the other side could not go on."""
        self.deadline += seconds

    def is_late(self, now: float) -> bool:
        return now > self.deadline


class SendBuffer:
    """Charges the bytes that a transport buffers to the budget while the client is slow."""

    def __init__(self, budget: BufferBudget) -> None:
        self._budget = budget
        self._unsent = 0  # bytes, taken from the budget
        self._pace = Pace(0.0)

    def begin(self, unsent: int, now: float) -> bool:
        """False when the budget has no room for that much."""
        if not self._budget.take(unsent):
            return False
        self._unsent = unsent
        self._pace = Pace(now)
        return True

    def end(self) -> None:
        self._budget.give(self._unsent)
        self._unsent = 0

    def is_late(self, unsent: int, now: float) -> bool:
        """unsent: bytes that are still buffered"""
        sent = max(0, self._unsent - unsent)
        self._budget.give(sent)
        self._unsent -= sent
        self._pace.moved(sent, now)
        return self._pace.is_late(now)


class FlowControl(asyncio.Protocol):
    """The transport of one client: reading can be paused, and writing waits for the client.

    now:     seconds of a monotonic clock
    address: of the client, without its port
    peer:    host:port of the client, IPv6 in brackets; local: of this end
    """

    def __init__(self, now: Callable[[], float], buffers: BufferBudget) -> None:
        self.now = now
        self.buffers = buffers
        self.address = self.peer = self.local = ""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._writable: asyncio.Future[None] | None = None  # while the client is slow
        self._send_buffer = SendBuffer(buffers)
        self._receive_pace = Pace(0.0)
        self._paused_at: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        self.peer = _host_and_port(peer)
        self.local = _host_and_port(transport.get_extra_info("sockname"))

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def writable(self) -> None:
        if self._writable is not None:
            await asyncio.shield(self._writable)
        if self._transport is None:
            raise ClientDisconnected

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()
        if not self._send_buffer.begin(self._unsent_bytes(), self.now()):
            self.abort()

    def resume_writing(self) -> None:
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        self._writable = None
        self._send_buffer.end()

    def pause_reading(self) -> None:
        if self._paused_at is None and (transport := self._open_transport()):
            self._paused_at = self.now()
            transport.pause_reading()

    def resume_reading(self) -> None:
        if self._paused_at is not None and (transport := self._open_transport()):
            self._receive_pace.postpone(self.now() - self._paused_at)
            self._paused_at = None
            transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _is_send_late(self, now: float) -> bool:
        return self._send_buffer.is_late(self._unsent_bytes(), now)

    def _is_receive_late(self, now: float) -> bool:
        return self._paused_at is None and self._receive_pace.is_late(now)

    def _unsent_bytes(self) -> int:
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def _open_transport(self) -> asyncio.Transport | None:
        transport = self._transport
        return None if transport is None or transport.is_closing() else transport


def _host_and_port(name: object) -> str:
    if not isinstance(name, tuple):
        return ""
    host, port = str(name[0]), name[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
