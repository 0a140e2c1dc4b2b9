"""The client of the preparer process, which it starts on demand."""

import asyncio
from collections.abc import Mapping, Sequence

from fanion.accept_log.port import LogEntry
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.preparer_codec import decode_response, encode_request
from fanion.processes.channel import BlockingChannel
from fanion.processes.child import Child
from fanion.projects.model import IngestionSettings


class Preparer:
    """The preparer process. The first call starts it, and later ones after it has ended.

    Args:
        geoip_db: The path of the database, or "".
    """

    def __init__(self, geoip_db: str = "") -> None:
        self._child = Child("fanion.ingest.pipeline.preparer_main", [geoip_db])
        self._channel: BlockingChannel | None = None
        self._is_ready = False
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        return self._child.pid

    async def prepare(
        self,
        entries: Sequence[LogEntry],
        rules: Mapping[int, IngestionSettings],
        types: Mapping[int, Mapping[str, int]],
    ) -> PreparedBatch | None:
        """Prepare a batch in the process.

        Args:
            rules: The rules by project.
            types: Group type → index, by project.

        Returns:
            None if the caller must prepare the batch: the process is not ready yet or has ended, or
                the
            batch names group types that are not in `types`.

        Raises:
            OSError: The process cannot be started.
        """
        async with self._turn:
            if self._channel is None or not self._child.is_running:
                await self._restart()
                return None
            try:
                if not self._is_process_ready(self._channel):
                    return None
                return await asyncio.to_thread(_request_batch, self._channel, entries, rules, types)
            except OSError:
                await self._end()
                return None
            except BaseException:
                await self._end()  # its response must not be taken for the one to the next request
                raise

    async def close(self) -> None:
        async with self._turn:
            await self._end()

    async def _restart(self) -> None:
        await self._end()
        if self._child.restart_in_s == 0:
            self._channel, self._is_ready = BlockingChannel(await self._child.start()), False

    def _is_process_ready(self, channel: BlockingChannel) -> bool:
        if not self._is_ready:
            channel.set_timeout(0)
            try:
                if channel.receive() is None:
                    raise _has_ended()
            except BlockingIOError:
                return False
            channel.set_timeout(None)
            self._is_ready = True
        return True

    async def _end(self) -> None:
        """Kill the process; it holds nothing that is not in the accept log."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.shutdown()  # wakes a waiting thread
            channel.close()
        await self._child.kill()


def _request_batch(
    channel: BlockingChannel,
    entries: Sequence[LogEntry],
    rules: Mapping[int, IngestionSettings],
    types: Mapping[int, Mapping[str, int]],
) -> PreparedBatch | None:
    channel.send(encode_request(entries, rules, types))
    response = channel.receive()
    if response is None:
        raise _has_ended()
    return decode_response(entries, response.content) if response.content else None


def _has_ended() -> OSError:
    return OSError("the preparer process has ended")
