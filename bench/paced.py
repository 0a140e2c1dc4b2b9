"""Requests at a fixed rate, which wrk cannot send.

Each request is due at a moment, and its time includes waiting for the requests before it, as it
does for users. Callbacks send them, without tasks and streams, since processor time used here is
lost to the server.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import urlsplit

import uvloop

CONNECTIONS = 32
WARM_S = 1.0
END_S_MAX = 30.0  # after the last request was due
# The event loop cannot sleep for less: it would spin, and use a whole processor.
TICK_S = 0.001


@dataclass(frozen=True)
class Paced:
    """The result of a run.

    Attributes:
        failed: Answers other than 200.
    """

    requests: int
    p50_ms: float
    p99_ms: float
    failed: int


def post(url: str, body: bytes, per_s: float, run_s: float = 5.0) -> Paced:
    return uvloop.run(_run(url, body, per_s, run_s))


async def _run(url: str, body: bytes, per_s: float, run_s: float) -> Paced:
    at = urlsplit(url)
    head = f"POST {at.path}?{at.query} HTTP/1.1\r\nHost: {at.netloc}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    schedule = _Schedule(head.encode() + body, per_s, int(per_s * (WARM_S + run_s)))
    loop, port = asyncio.get_running_loop(), at.port
    assert at.hostname is not None and port is not None
    lines = [
        (await loop.create_connection(lambda: _Line(schedule), at.hostname, port))[0]
        for _ in range(CONNECTIONS)
    ]
    schedule.begin()
    async with asyncio.timeout(WARM_S + run_s + END_S_MAX):
        await schedule.is_done.wait()
    for line in lines:
        line.close()
    took = sorted(schedule.took)
    p50, p99 = (took[rank] * 1000 for rank in (len(took) // 2, int(len(took) * 0.99)))
    return Paced(len(took), p50, p99, schedule.failed)


@dataclass
class _Schedule:
    """The times at which requests are due, and the free connections."""

    request: bytes
    per_s: float
    requests: int
    free: "deque[_Line]" = field(default_factory=deque)
    took: list[float] = field(default_factory=list)
    failed: int = 0
    is_done: asyncio.Event = field(default_factory=asyncio.Event)
    _begun: float = 0.0
    _sent: int = 0
    _answered: int = 0

    def begin(self) -> None:
        self._begun = time.perf_counter()
        self._tick()

    def answered(self, line: "_Line", due: float, status: int) -> None:
        now = time.perf_counter()
        if due - self._begun >= WARM_S:
            self.took.append(now - due)
            self.failed += status != 200
        self._answered += 1
        if self._answered == self.requests:
            self.is_done.set()
        self.free.append(line)
        self._send(now)

    def _tick(self) -> None:
        now = time.perf_counter()
        self._send(now)
        if self._sent < self.requests:
            asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _send(self, now: float) -> None:
        while self.free and self._sent < self.requests and (due := self._due()) <= now:
            self._sent += 1
            self.free.popleft().send(self.request, due)

    def _due(self) -> float:
        return self._begun + self._sent / self.per_s


class _Line(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self, schedule: _Schedule) -> None:
        self._schedule = schedule
        self._transport: asyncio.WriteTransport | None = None
        self._due = 0.0
        self._received = b""

    def send(self, request: bytes, due: float) -> None:
        assert self._transport is not None
        self._due = due
        self._transport.write(request)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._schedule.free.append(self)

    def data_received(self, data: bytes) -> None:
        self._received = received = self._received + data
        end = received.find(b"\r\n\r\n") + 4
        if end < 4:
            return
        length = received.lower().find(b"content-length:", 0, end) + 15
        if len(received) < end + int(received[length : received.find(b"\r", length)]):
            return
        self._received = b""
        self._schedule.answered(self, self._due, int(received[9:12]))
