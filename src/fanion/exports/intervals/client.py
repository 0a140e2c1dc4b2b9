"""A regular export: each hour or day of accepted events is written once, to a bucket or folder."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import msgspec

from fanion.exports.download_client import DownloadFailed, PageReader, next_cursor, rows_of
from fanion.exports.intervals.files_service import write_interval
from fanion.exports.intervals.model import (
    MANIFEST,
    SETTLED,
    Every,
    Interval,
    Manifest,
    interval_of,
    whole_intervals,
)
from fanion.exports.model import FORMATS
from fanion.rest.unknown_fields import choice


class Bucket(Protocol):
    """A store of named objects, each of which is there whole or not at all."""

    def read(self, name: str) -> bytes: ...
    def write(self, name: str, content: bytes) -> None: ...
    def flush(self) -> None: ...
    def names(self, folder: str) -> Iterator[str]: ...
    def delete(self, names: Sequence[str]) -> None: ...
    def locked(self, *, shared: bool) -> AbstractContextManager[None]: ...


class _Waiting(msgspec.Struct):
    oldest: datetime | None


class _Ingestion(msgspec.Struct):
    waiting: _Waiting | None


@dataclass(frozen=True, slots=True)
class RegularExport:
    """The export of a project's events, interval by interval.

    Attributes:
        pages: Reads from the server.
        project: The address of the project.
        folder: The part of all names before that of the interval.
        query: The format, and what else selects events.
        on_written: Called with each interval that was written.
    """

    pages: PageReader
    project: str
    bucket: Bucket
    folder: str
    every: Every
    query: Mapping[str, str]
    on_written: Callable[[Manifest], None] = lambda _: None

    async def run(self, first: datetime | None, now: datetime) -> Sequence[Manifest]:
        """Write the intervals that are over and not written, and return them.

        Args:
            first: In the first interval; None to go on behind the last one that is written, or to
                begin with the one that has just ended.

        Raises:
            DownloadFailed: The server refuses or does not answer.
            OSError: The bucket or folder failed, as it may with an error of its own.
        """
        with self.bucket.locked(shared=False):
            until = await self._complete_until(now - SETTLED)
            names = set(await asyncio.to_thread(lambda: list(self.bucket.names(self.folder))))
            written = []
            for interval in whole_intervals(self._first(first, names, until), until, self.every):
                if f"{self.folder}/{interval.name}/{MANIFEST}" not in names:
                    written.append(await self._write(interval, names))
                    self.on_written(written[-1])
            return written

    async def _complete_until(self, now: datetime) -> datetime:
        """Return the time until which everything that was accepted is stored."""
        answer = await self.pages.get(f"{self.project}/ingestion/", {})
        waiting = msgspec.json.decode(answer.content, type=_Ingestion).waiting
        if waiting is None:
            raise DownloadFailed("the server cannot tell what waits for ingestion")
        return now if waiting.oldest is None else min(now, waiting.oldest)

    def _first(self, first: datetime | None, names: set[str], until: datetime) -> datetime:
        if first is not None:
            return first
        if manifests := sorted(name for name in names if name.endswith(f"/{MANIFEST}")):
            return msgspec.json.decode(self.bucket.read(manifests[-1]), type=Manifest).end
        current = interval_of(until, self.every)
        return current.start - (current.end - current.start)

    async def _write(self, interval: Interval, names: set[str]) -> Manifest:
        path, file_format = f"{self.folder}/{interval.name}/", self.query["format"]
        pages = self._pages(interval)
        objects = _InThreads(self.bucket)
        return await write_interval(
            objects, path, interval, choice(file_format, FORMATS, "format"), pages, names
        )

    async def _pages(self, interval: Interval) -> AsyncIterator[tuple[int, bytes]]:
        times = {"start_at": interval.start.isoformat(), "end_at": interval.end.isoformat()}
        query = {**self.query, "by": "created_at", **times}
        cursor: str | None = ""
        while cursor is not None:
            page = await self.pages.page(f"{self.project}/events/export/", query, cursor)
            yield rows_of(page), page.content
            cursor = next_cursor(page)


@dataclass(frozen=True, slots=True)
class _InThreads:
    """A bucket that is written in threads."""

    bucket: Bucket

    async def write(self, name: str, content: bytes) -> None:
        await asyncio.to_thread(self.bucket.write, name, content)

    async def delete(self, names: Sequence[str]) -> None:
        await asyncio.to_thread(self.bucket.delete, names)

    async def flush(self) -> None:
        await asyncio.to_thread(self.bucket.flush)
