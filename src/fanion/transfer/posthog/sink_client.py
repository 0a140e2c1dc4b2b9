"""Where copied events go: into the historical lane of the accept log.

A SQLite log belongs to the one process that has it open. While a server runs, that is the
server, and events go to it as an import over HTTP; otherwise they are written into the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import httpx
import msgspec

from fanion.accept_log.port import AcceptLog, Envelope, LogFull
from fanion.projects.model import Project

BATCH_ITEMS_MAX = 500
BATCH_BYTES_MAX = 4 * 1024**2
ENVELOPE_BYTES = 1024  # of a request without its items
# Waiting in all for one batch; a log that is full is worked off meanwhile.
WAIT_S_MAX = 900.0
FIRST_WAIT_S = 1.0
RETRY_S_MAX = 60.0
# For what was handed in to be ingested.
LOOK_S = 0.5
LOOKS_MAX = 240

Sleep = Callable[[float], Awaitable[None]]


class SinkError(Exception):
    """Events cannot be handed in; the text is one line."""


class Sink(Protocol):
    async def take(self, items: Sequence[bytes]) -> int:
        """items: each the JSON of one event. Once it returns they are durable, but for so many
        as it returns, which are too large. raises: SinkError"""

    async def ingested(self) -> bool:
        """Wait until all of it can be read. False on a timeout, or when no server ingests it."""


def batches(items: Sequence[bytes], bytes_max: int) -> Iterator[list[bytes]]:
    """In order; an item that is larger alone stands alone."""
    batch: list[bytes] = []
    size = 0
    for item in items:
        if batch and (len(batch) >= BATCH_ITEMS_MAX or size + len(item) + 1 > bytes_max):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item) + 1
    if batch:
        yield batch


@dataclass(slots=True)
class LogSink:
    """The accept log itself.

    ingested_upto: to which place it is worked off; None where no server does so meanwhile
    """

    log: AcceptLog
    project: Project
    now: Callable[[], datetime]
    body_bytes_max: int
    ingested_upto: Callable[[], Awaitable[int]] | None = None
    sleep: Sleep = asyncio.sleep
    _last: int = 0

    async def take(self, items: Sequence[bytes]) -> int:
        too_large = 0
        for batch in batches(items, min(BATCH_BYTES_MAX, self.body_bytes_max)):
            if len(batch) == 1 and len(batch[0]) > self.body_bytes_max:
                too_large += 1
                continue
            body = b"[" + b",".join(batch) + b"]"
            # Without a client address: events must not get that of this machine.
            await self._append(
                Envelope(self.project.id, self.now(), "", "", None, body, historical=True)
            )
        return too_large

    async def ingested(self) -> bool:
        for _ in range(LOOKS_MAX):
            if self.ingested_upto is None:
                return self._last == 0
            if await self.ingested_upto() >= self._last:
                return True
            await self.sleep(LOOK_S)
        return False

    async def _append(self, envelope: Envelope) -> None:
        waits = Waits()
        while True:
            try:
                self._last = await self.log.append(envelope)
                return
            except LogFull as error:
                if self.ingested_upto is None:
                    raise SinkError(
                        "the accept log is full: start `fanion serve`, which works it off, and "
                        "run this again; it goes on where it was"
                    ) from None
                await self.sleep(waits.next(str(error)))
            except OSError as error:
                await self.sleep(waits.next(str(error)))


@dataclass(frozen=True, slots=True)
class HttpSink:
    """A server on this machine, as an import from outside."""

    client: httpx.AsyncClient
    project: Project
    body_bytes_max: int
    sleep: Sleep = asyncio.sleep

    async def take(self, items: Sequence[bytes]) -> int:
        too_large = 0
        room = min(BATCH_BYTES_MAX, self.body_bytes_max) - ENVELOPE_BYTES
        for batch in batches(items, room):
            too_large += await self._send(batch)
        return too_large

    async def ingested(self) -> bool:
        for _ in range(LOOKS_MAX):
            try:
                metrics = (await self.client.get("/metrics")).text
            except httpx.HTTPError:
                return False
            if "\nfanion_log_lag_envelopes 0.0\n" in metrics:
                return True
            await self.sleep(LOOK_S)
        return False

    async def _send(self, batch: Sequence[bytes]) -> int:
        head = {"api_key": self.project.api_token, "historical_migration": True}
        body = msgspec.json.encode(head)[:-1] + b',"batch":[' + b",".join(batch) + b"]}"
        waits = Waits()
        while True:
            try:
                answer = await self.client.post("/batch/", content=body)
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                await self.sleep(waits.next(f"the server here cannot be reached: {reason}"))
                continue
            if answer.status_code == 200:
                return 0
            if answer.status_code == 413:
                if len(batch) == 1:
                    return 1
                half = len(batch) // 2
                return await self._send(batch[:half]) + await self._send(batch[half:])
            problem = f"the server here answers with {answer.status_code}: {answer.text[:200]}"
            if answer.status_code != 429 and answer.status_code < 500:
                raise SinkError(problem)
            await self.sleep(waits.next(problem, answer.headers.get("retry-after", "")))


class Waits:
    """Delays between attempts, with a limit."""

    def __init__(self) -> None:
        self._next_s = FIRST_WAIT_S
        self._waited_s = 0.0

    def next(self, problem: str, asked: str = "") -> float:
        """asked: seconds that the other side wants. raises: SinkError with the problem"""
        if self._waited_s >= WAIT_S_MAX:
            raise SinkError(f"{problem}; given up after {WAIT_S_MAX:g} s")
        wait_s = float(asked) if asked.isascii() and asked.isdigit() else self._next_s
        wait_s = min(max(wait_s, FIRST_WAIT_S), RETRY_S_MAX)
        self._next_s = min(self._next_s * 2, RETRY_S_MAX)
        self._waited_s += wait_s
        return wait_s
