"""Who writes the file of the embedded accept log: here, a thread of this process."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol, TypeVar

from fanion.accept_log.codec import group
from fanion.accept_log.port import Backlog, Envelope
from fanion.accept_log.sqlite_file import LogFile

T = TypeVar("T")


class Writer(Protocol):
    """One thing at a time, in the order of the calls. The calls raise what `LogFile`'s do."""

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int: ...

    async def trim_some(self, upto: int, *, historical: bool) -> bool: ...

    async def backlog(self, after: int, *, historical: bool) -> Backlog: ...

    async def close(self) -> None: ...


class WriterThread:
    def __init__(self, file: LogFile) -> None:
        self._file = file
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="accept-log-write")

    async def open(self) -> None:
        """raises: OSError"""
        await run_in(self._thread, self._file.open)

    async def write(self, envelopes: Sequence[Envelope], *, historical: bool) -> int:
        return await run_in(
            self._thread, lambda: self._file.write(group(envelopes), historical=historical)
        )

    async def trim_some(self, upto: int, *, historical: bool) -> bool:
        return await run_in(
            self._thread, partial(self._file.trim_some, upto, historical=historical)
        )

    async def backlog(self, after: int, *, historical: bool) -> Backlog:
        return await run_in(self._thread, partial(self._file.backlog, after, historical=historical))

    async def close(self) -> None:
        await run_in(self._thread, self._file.close)
        self._thread.shutdown()


async def run_in(thread: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(thread, work)
