"""An export that a server sends page by page, written to files that a second run continues.

After each page the files are flushed, and then the address of the next page with their length.
What a killed run has written behind that is cut off.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlsplit

import httpx
import msgspec

from fanion.errors import Invalid
from fanion.events.storage.export_query import ExportFormat, Place
from fanion.exports.model import PAGE_ROWS_MAX, read_cursor
from fanion.exports.schemas import ROWS_HEADER
from fanion.runtime.durable_file import replace_durably, sync_folder, write_durably

TRIES_MAX: Final = 8
_FIRST_WAIT_S: Final = 1.0
_WAIT_S_MAX: Final = 60.0
_TIMEOUT_S: Final = 120.0
_RETRIED: Final = frozenset((429, 502, 503, 504))
_REASON_CHARS_MAX: Final = 300
_STATE: Final = ".state"
_PART: Final = ".part"


class DownloadFailed(Exception):
    """An export that could not be read or written to its end; the text is one line."""


class Progress(msgspec.Struct, kw_only=True):
    """How far an export has been written.

    Attributes:
        request: The export, without its place.
        cursor: Where the next page begins; None if all pages are written.
        size: The bytes of the file, or the number of Parquet files.
    """

    request: dict[str, str]
    cursor: str | None = ""
    rows: int = 0
    size: int = 0

    @property
    def day(self) -> date | None:
        """Return the day up to which events are written; None if it is not known."""
        try:
            return read_cursor(self.cursor, Place).day if self.cursor else None
        except Invalid:
            return None


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads pages of exports from a server, again where it does not answer.

    Attributes:
        sleep: Waits between tries.
        rows_max: The rows of a page.
    """

    client: httpx.AsyncClient
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    rows_max: int = PAGE_ROWS_MAX

    async def page(self, path: str, query: Mapping[str, str], cursor: str) -> httpx.Response:
        """Return a page; the first one has no cursor.

        Raises:
            DownloadFailed: The server refuses or does not answer.
        """
        place = {"cursor": cursor} if cursor else {}
        return await self.get(path, {**query, "limit": str(self.rows_max), **place})

    async def get(self, path: str, query: Mapping[str, str]) -> httpx.Response:
        """Return the answer to a request; it raises the same error as `page`."""
        wait_s = _FIRST_WAIT_S
        for left in reversed(range(TRIES_MAX)):
            try:
                answer = await self.client.get(path, params=dict(query), timeout=_TIMEOUT_S)
                if answer.status_code == 200:
                    return answer
                reason = _reason(answer)
                if answer.status_code not in _RETRIED:
                    raise DownloadFailed(reason)
            except httpx.HTTPError as error:
                reason = f"the server does not answer: {error or type(error).__name__}"
            if left:
                await self.sleep(wait_s)
                wait_s = min(2 * wait_s, _WAIT_S_MAX)
        raise DownloadFailed(f"{reason}; run the command again to continue")


@dataclass(frozen=True, slots=True)
class Download:
    """One export of a server.

    Attributes:
        path: The address of the export below the client's.
        query: The parameters of the request.
        output: The file, or in Parquet the folder of files.
        on_page: Called after each page.
    """

    pages: PageReader
    path: str
    query: Mapping[str, str]
    file_format: ExportFormat
    output: Path
    on_page: Callable[[Progress], None] = lambda _: None

    async def run(self) -> Progress:
        """Write what is missing, and return what there is.

        Raises:
            DownloadFailed: The server refuses or does not answer, or the files cannot be written.
        """
        kind = _ParquetFolder if self.file_format == "parquet" else _TextFile
        files = kind(self.output, self.file_format)
        try:
            progress = await asyncio.to_thread(files.begin, dict(self.query))
            while progress.cursor is not None:
                self.on_page(progress)
                page = await self.pages.page(self.path, self.query, progress.cursor)
                await asyncio.to_thread(files.add, page.content, progress)
                progress.rows += rows_of(page)
                progress.cursor = next_cursor(page)
                await asyncio.to_thread(files.keep, progress)
            await asyncio.to_thread(files.finish)
        except OSError as error:
            raise DownloadFailed(f"{self.output} cannot be written: {error.strerror}") from None
        return progress


def rows_of(page: httpx.Response) -> int:
    return int(page.headers.get(ROWS_HEADER, 0))


def next_cursor(page: httpx.Response) -> str | None:
    """Return the cursor of the page behind this one; None after the last."""
    link = page.links.get("next", {}).get("url", "")
    return next(iter(parse_qs(urlsplit(link).query).get("cursor", ())), None)


def _reason(page: httpx.Response) -> str:
    try:
        answer = msgspec.json.decode(page.content)
        text = f"{answer['attr'] or ''}: {answer['detail']}".lstrip(": ")
    except (msgspec.MsgspecError, KeyError, TypeError):
        text = page.text
    return f"the server answers {page.status_code}: {text[:_REASON_CHARS_MAX]}"


class _Files:
    """The files of an export, and the state beside them."""

    def __init__(self, output: Path, file_format: ExportFormat) -> None:
        self.output = output
        self.format = file_format

    @property
    def state(self) -> Path:
        return self.output.with_name(self.output.name + _STATE)

    def begin(self, request: dict[str, str]) -> Progress:
        """Return how far a former run has come with the same request.

        Raises:
            DownloadFailed: The files are those of another export.
            OSError: They cannot be read.
        """
        if not self.state.exists():
            if self.output.exists():
                raise DownloadFailed(f"{self.output} is there already; name another output")
            return Progress(request=request)
        try:
            progress = msgspec.json.decode(self.state.read_bytes(), type=Progress)
        except msgspec.MsgspecError:
            raise DownloadFailed(f"{self.state} cannot be read; delete it to begin again") from None
        if progress.request != request:
            raise DownloadFailed(
                f"{self.state} is of another export; name another output, or delete it"
            )
        return progress

    def add(self, page: bytes, progress: Progress) -> None:
        raise NotImplementedError

    def keep(self, progress: Progress) -> None:
        write_durably(self.state, msgspec.json.encode(progress))

    def finish(self) -> None:
        self.state.unlink(missing_ok=True)


class _TextFile(_Files):
    """A file of lines, which has its name when it is complete."""

    @property
    def part(self) -> Path:
        return self.output.with_name(self.output.name + _PART)

    def add(self, page: bytes, progress: Progress) -> None:
        """Write a page behind those that are known to be written; only the first has a heading."""
        if self.format == "csv" and progress.size:
            page = page.partition(b"\n")[2]
        with os.fdopen(os.open(self.part, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            file.truncate(progress.size)
            file.seek(progress.size)
            file.write(page)
            file.flush()
            os.fsync(file.fileno())
        progress.size += len(page)

    def finish(self) -> None:
        self.part.replace(self.output)
        sync_folder(self.output.parent)
        super().finish()


class _ParquetFolder(_Files):
    """A folder of Parquet files, each a page."""

    def add(self, page: bytes, progress: Progress) -> None:
        self.output.mkdir(mode=0o700, parents=True, exist_ok=True)
        progress.size += 1
        replace_durably(self.output / f"{progress.size:06}.parquet", page)
        sync_folder(self.output)
