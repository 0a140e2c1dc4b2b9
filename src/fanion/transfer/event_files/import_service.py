"""One run of an import of files: blocks of events are read, sent and recorded, in their order.

A run that ends early has recorded at most what was sent. What it has sent and not recorded is sent
again by the next one, with the same ids, and ingestion drops it.
"""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

from fanion.transfer.event_files.blocks_reader import Block, ImportedFiles
from fanion.transfer.event_files.model import FileProblem
from fanion.transfer.event_files.progress_store import Progress, ProgressFile
from fanion.transfer.posthog.sink_client import Sink

SAVE_EVERY_S = 0.2


@dataclass
class EventImport:
    """One run of an import.

    Attributes:
        sink: None in a dry run, which reads everything, sends nothing and records nothing.
        refused_max: The number of refused rows after which the import ends.
        seconds: A clock.
        on_progress: Called after each block.
    """

    files: ImportedFiles
    sink: Sink | None
    state: ProgressFile
    progress: Progress
    refused_max: int
    seconds: Callable[[], float]
    on_progress: Callable[[Progress], None]
    _saved_at: float = 0.0

    async def run(self) -> None:
        """Read and send until all rows are done.

        Raises:
            FileProblem: It ended early; the next run goes on there.
            SinkError: It ended early; the next run goes on there.
        """
        self.progress.runs += 1
        self._save()
        blocks = self.files.blocks(self.progress.position, self.progress.previous)
        with ThreadPoolExecutor(1) as reader:
            try:
                await self._send_all(blocks, reader)
                self.progress.is_finished = True
            finally:
                await asyncio.get_running_loop().run_in_executor(reader, _close, blocks)
                self._save()

    async def _send_all(self, blocks: Iterator[Block], reader: ThreadPoolExecutor) -> None:
        """Send each block while the next one is read."""
        loop = asyncio.get_running_loop()
        following = loop.run_in_executor(reader, next, blocks, None)
        while (block := await following) is not None:
            following = loop.run_in_executor(reader, next, blocks, None)
            try:
                await self._send(block)
            except BaseException:
                with suppress(FileProblem):  # of rows that are read again
                    await following
                raise

    async def _send(self, block: Block) -> None:
        if self.progress.refused + len(block.refused) > self.refused_max:
            self.progress.show(block.refused)
            refused = self.progress.refused + len(block.refused)
            raise FileProblem(
                f"{refused} rows cannot be imported, and at most {self.refused_max} may be "
                "refused. Correct the files or the mapping, or raise --max-errors."
            )
        too_large = 0
        if self.sink is not None and block.items:
            too_large = await self.sink.write_events(block.items)
        self.progress.add(block, too_large)
        self.on_progress(self.progress)
        if self.seconds() - self._saved_at >= SAVE_EVERY_S:
            self._save()

    def _save(self) -> None:
        if self.sink is not None:
            self.state.save(self.progress)
            self._saved_at = self.seconds()


def _close(blocks: Iterator[Block]) -> None:
    close = getattr(blocks, "close", None)
    if close is not None:
        close()
