"""The back-pressure between this process and its clients.

It limits how much is buffered, and sets how fast transfers must go on.
"""

import asyncio
from collections.abc import Callable
from typing import cast

from fanion.server.errors import ClientDisconnected
from fanion.server.forwarded import network_of, read_address

BUFFERED_BYTES_MAX = 256 * 1024 * 1024  # a dozen of the largest batches at once

STALLED_S_MAX = 60.0  # seconds of a transfer without progress
# The rate over any longer time: a hundredth of a bad mobile connection.
BYTES_PER_S_MIN = 500
# The bytes held for a transfer must double within this time, so that a trickle does not hold
# memory.
DOUBLED_S_MAX = 300.0
# The rate of the largest transfers, from 20 MiB on: half of a slow line, for files of cohort
# members.
LARGE_BYTES_PER_S_MIN = 64 * 1024


class BufferBudget:
    """A number of bytes for one purpose of a process."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.held = 0

    def reserve(self, size: int) -> bool:
        """Take bytes; return False, and take nothing, if that many are not free."""
        if self.held + size > self.bytes_max:
            return False
        self.held += size
        return True

    def release(self, size: int) -> None:
        self.held -= size


class SharedBudget:
    """The bytes that one process holds for its clients, shared by their addresses.

    An address may hold as much as all of them leave free: half of everything if it is alone, a
    third beside one that does the same. So no address takes the room of the next.

    Source: Choudhury and Hahne, Dynamic Queue Length Thresholds (IEEE/ACM ToN 6, 1998).
    """

    def __init__(self, bytes_max: int = BUFFERED_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.held = 0
        self._held_by: dict[str, int] = {}

    def held_by(self, holder: str) -> int:
        return self._held_by.get(holder, 0)

    def reserve(self, size: int, holder: str) -> bool:
        """Take bytes, or return False if the holder would then have more than is left free.

        Args:
            size: In bytes.
            holder: The network of a client, as returned by `network_of`.
        """
        held = self.held_by(holder) + size
        if held > self.bytes_max - self.held - size:
            return False
        self.held += size
        self._held_by[holder] = held
        return True

    def release(self, size: int, holder: str) -> None:
        self.held -= size
        left = self.held_by(holder) - size
        if left:
            self._held_by[holder] = left
        else:
            self._held_by.pop(holder, None)


def least_rate(held: int) -> float:
    """Return the least rate, in bytes per second, of a transfer for which `held` bytes are held."""
    return min(LARGE_BYTES_PER_S_MIN, max(BYTES_PER_S_MIN, held / DOUBLED_S_MAX))


class Pace:
    """The pace of one transfer, which must keep the minimum rate.

    Bytes that have moved postpone the deadline by the time that they may take, up to STALLED_S_MAX
    from now. All times are seconds of one monotonic clock.
    """

    __slots__ = ("_moved", "deadline")

    def __init__(self, now: float) -> None:
        self.deadline = now + STALLED_S_MAX
        self._moved = 0

    def received(self, size: int, now: float) -> None:
        """Count bytes of a body, which are held from now on."""
        self._moved += size
        self.moved(size, self._moved, now)

    def moved(self, size: int, held: int, now: float) -> None:
        """Count bytes that have moved while `held` bytes are held."""
        self.deadline = min(now + STALLED_S_MAX, self.deadline + size / least_rate(held))

    def postpone(self, seconds: float) -> None:
        """Leave out the time in which the other side could not go on."""
        self.deadline += seconds

    def is_late(self, now: float) -> bool:
        return now > self.deadline


class SendBuffer:
    """The bytes that a transport buffers while the client is slow, charged to the budget."""

    def __init__(self, budget: SharedBudget) -> None:
        self._budget = budget
        self._holder = ""
        self._unsent = 0  # bytes, taken from the budget
        self._pace = Pace(0.0)

    def begin(self, unsent: int, holder: str, now: float) -> bool:
        """Charge the bytes; return False if the budget has no room for them.

        Args:
            holder: The network of the client, as for `SharedBudget.reserve`.
        """
        if not self._budget.reserve(unsent, holder):
            return False
        self._holder = holder
        self._unsent = unsent
        self._pace = Pace(now)
        return True

    def end(self) -> None:
        self._budget.release(self._unsent, self._holder)
        self._unsent = 0

    def is_late(self, unsent: int, now: float) -> bool:
        """Count what has been sent, and return whether the transfer is too slow.

        Args:
            unsent: The bytes that are still buffered.
        """
        sent = max(0, self._unsent - unsent)
        self._budget.release(sent, self._holder)
        self._unsent -= sent
        self._pace.moved(sent, self._unsent, now)
        return self._pace.is_late(now)


class FlowControl(asyncio.Protocol):
    """The transport of one client: reading can be paused, and writing waits for the client.

    Attributes:
        now: Seconds of a monotonic clock.
        address: The client's address, without its port.
        peer: host:port of the client, IPv6 in brackets.
        local: host:port of this end.
    """

    def __init__(self, now: Callable[[], float], buffers: SharedBudget) -> None:
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

    def holder(self) -> str:
        """Return the network whose share of the buffers the current answer takes."""
        return network_of(read_address(self.address))

    def pause_writing(self) -> None:
        self._writable = self._loop.create_future()
        if not self._send_buffer.begin(self._unsent_bytes(), self.holder(), self.now()):
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
