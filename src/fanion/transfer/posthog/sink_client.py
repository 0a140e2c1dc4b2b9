"""The destination of copied events, and the progress of the copy in the records store.

The destination is the historical lane of the accept log. A SQLite log belongs to the process that
has it open. While a server runs, events are sent to it over HTTP as a historical migration;
otherwise they are appended to the log.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import httpx
import msgspec
from sqlalchemy import select

from fanion.accept_log.port import AcceptLog, Envelope, LogFull
from fanion.db.bulk import upsert
from fanion.db.engine import Records
from fanion.db.schema.activity import SOURCE_CHARS_MAX, event_copies
from fanion.projects.model import Project
from fanion.transfer.posthog.copy_progress import CopyProgress

BATCH_ITEMS_MAX = 500
BATCH_BYTES_MAX = 4 * 1024**2
ENVELOPE_BYTES = 1024  # size of a request without its items
WAIT_S_MAX = 900.0  # in total for one batch; a server consumes a full log meanwhile
FIRST_WAIT_S = 1.0
RETRY_S_MAX = 60.0
# Limit of the polls until all events are ingested: two minutes.
POLL_S = 0.5
POLLS_MAX = 240

Sleep = Callable[[float], Awaitable[None]]


class SinkError(Exception):
    """A failure to write events; the text is one line."""


class Sink(Protocol):
    async def write_events(self, items: Sequence[bytes]) -> int:
        """Write events durably, and return how many were left out because they are too large.

        Args:
            items: The JSON of each event.

        Raises:
            SinkError: The events cannot be written.
        """

    async def await_ingestion(self) -> bool:
        """Wait until all events are ingested.

        Returns:
            False on a timeout, or when no server runs.
        """


def split_batches(items: Sequence[bytes], bytes_max: int) -> Iterator[list[bytes]]:
    """Yield the items in batches, in order; an item above the limit is its own batch."""
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
    """A sink that appends to the accept log.

    Attributes:
        is_ingested: Returns whether all imports up to an id are ingested; None when no server runs.
    """

    log: AcceptLog
    project: Project
    now: Callable[[], datetime]
    body_bytes_max: int
    is_ingested: Callable[[int], Awaitable[bool]] | None = None
    sleep: Sleep = asyncio.sleep
    _last: int = 0

    async def write_events(self, items: Sequence[bytes]) -> int:
        too_large = 0
        for batch in split_batches(items, min(BATCH_BYTES_MAX, self.body_bytes_max)):
            if len(batch) == 1 and len(batch[0]) > self.body_bytes_max:
                too_large += 1
                continue
            body = b"[" + b",".join(batch) + b"]"
            # Without a client address, so that events do not get the address of this machine.
            await self._append_envelope(
                Envelope(self.project.id, self.now(), "", "", None, body, historical=True)
            )
        return too_large

    async def await_ingestion(self) -> bool:
        for _ in range(POLLS_MAX):
            if self.is_ingested is None:
                return self._last == 0
            if await self.is_ingested(self._last):
                return True
            await self.sleep(POLL_S)
        return False

    async def _append_envelope(self, envelope: Envelope) -> None:
        backoff = CopyBackoff()
        while True:
            try:
                self._last = await self.log.append(envelope)
                return
            except LogFull as error:
                if self.is_ingested is None:
                    raise SinkError(
                        "the accept log is full: start `fanion serve`, which consumes it, and "
                        "run this command again; the copy resumes"
                    ) from None
                await self.sleep(backoff.next_s(str(error)))
            except OSError as error:
                await self.sleep(backoff.next_s(str(error)))


@dataclass(frozen=True, slots=True)
class HttpSink:
    """A sink that sends to a server, as a historical migration."""

    client: httpx.AsyncClient
    project_key: str
    body_bytes_max: int
    sleep: Sleep = asyncio.sleep

    async def write_events(self, items: Sequence[bytes]) -> int:
        too_large = 0
        room = min(BATCH_BYTES_MAX, self.body_bytes_max) - ENVELOPE_BYTES
        for batch in split_batches(items, room):
            too_large += await self._send_batch(batch)
        return too_large

    async def await_ingestion(self) -> bool:
        for _ in range(POLLS_MAX):
            try:
                metrics = (await self.client.get("/metrics")).text
            except httpx.HTTPError:
                return False
            if "\nfanion_log_lag_envelopes 0.0\n" in metrics:
                return True
            await self.sleep(POLL_S)
        return False

    async def _send_batch(self, batch: Sequence[bytes]) -> int:
        head = {"api_key": self.project_key, "historical_migration": True}
        body = msgspec.json.encode(head)[:-1] + b',"batch":[' + b",".join(batch) + b"]}"
        backoff = CopyBackoff()
        while True:
            try:
                answer = await self.client.post("/batch/", content=body)
            except httpx.HTTPError as error:
                reason = str(error) or type(error).__name__
                await self.sleep(backoff.next_s(f"the server cannot be reached: {reason}"))
                continue
            if answer.status_code == 200:
                return 0
            if answer.status_code == 413:
                if len(batch) == 1:
                    return 1
                half = len(batch) // 2
                return await self._send_batch(batch[:half]) + await self._send_batch(batch[half:])
            problem = f"the server responds with {answer.status_code}: {answer.text[:200]}"
            if answer.status_code != 429 and answer.status_code < 500:
                raise SinkError(problem)
            await self.sleep(backoff.next_s(problem, answer.headers.get("retry-after", "")))


class CopyBackoff:
    """The delays between the attempts of one batch, WAIT_S_MAX in total."""

    def __init__(self) -> None:
        self._next_s = FIRST_WAIT_S
        self._waited_s = 0.0

    def next_s(self, problem: str, retry_after: str = "") -> float:
        """Return the delay before the next attempt.

        Args:
            retry_after: The value of Retry-After.

        Raises:
            SinkError: WAIT_S_MAX is exceeded; the text names the problem.
        """
        if self._waited_s >= WAIT_S_MAX:
            raise SinkError(f"{problem}; no success within {WAIT_S_MAX:g} s")
        is_number = retry_after.isascii() and retry_after.isdigit()
        wait_s = float(retry_after) if is_number else self._next_s
        wait_s = min(max(wait_s, FIRST_WAIT_S), RETRY_S_MAX)
        self._next_s = min(self._next_s * 2, RETRY_S_MAX)
        self._waited_s += wait_s
        return wait_s


_copy = event_copies.c


@dataclass(frozen=True, slots=True)
class ProgressStore:
    """The progress of the copy of one source into one project."""

    records: Records
    project_id: int
    source: str

    async def load_progress(self) -> CopyProgress | None:
        rows = await self.records.fetch(
            select(
                _copy.since,
                _copy.copied_upto,
                _copy.is_finished,
                _copy.copied_from,
                _copy.events,
            ).where(
                _copy.project_id == self.project_id, _copy.source == self.source[:SOURCE_CHARS_MAX]
            )
        )
        if not rows:
            return None
        row = rows[0]
        return CopyProgress(
            row.since, row.copied_upto, row.is_finished, row.copied_from, row.events
        )

    async def save_progress(self, progress: CopyProgress, now: datetime) -> None:
        values = {
            "since": progress.since,
            "copied_upto": progress.copied_upto,
            "is_finished": progress.is_finished,
            "copied_from": progress.copied_from,
            "events": progress.events,
            "updated_at": now,
        }
        async with self.records.write() as connection:
            statement = upsert(connection.dialect, event_copies).values(
                project_id=self.project_id, source=self.source[:SOURCE_CHARS_MAX], **values
            )
            await connection.execute(
                statement.on_conflict_do_update(
                    index_elements=["project_id", "source"], set_=values
                )
            )
