"""Client of the preparer process, which is started on demand."""

import asyncio
from collections.abc import Mapping, Sequence

from fanion.accept_log.port import LogEntry
from fanion.ingest.pipeline.batch import PreparedBatch
from fanion.ingest.pipeline.preparer_codec import decode_response, encode_request
from fanion.processes.channel import BlockingChannel
from fanion.processes.child import Child
from fanion.projects.model import IngestionSettings


class Preparer:
    """Starts the process with the first call, and again after it has ended.

    geoip_db: the path of the database, or ""
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
        """None when the caller must prepare the batch: the process is not ready yet or has ended,
        or the batch names group types that are not in `types`.

        rules and types (group type → index): by project
        raises: OSError when the process cannot be started
        """
        async with self._turn:
            if self._channel is None or not self._child.is_running:
                await self._restart()
                return None
            try:
                if not self._is_process_ready(self._channel):
                    return None
                return await asyncio.to_thread(_ask, self._channel, entries, rules, types)
            except OSError:
                await self._end()
                return None
            except BaseException:
                await self._end()  # its response must not be taken for that to the next request
                raise

    async def close(self) -> None:
        async with self._turn:
            await self._end()

    async def _restart(self) -> None:
        await self._end()
        if self._child.restart_in_s == 0:
            self._channel, self._is_ready = BlockingChannel(await self._child.start()), False

    def _is_process_ready(self, channel: BlockingChannel) -> bool:
        """raises: OSError when the process has ended"""
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
        """Kill it: the process has nothing that is not in the accept log."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.shutdown()  # wakes a waiting thread
            channel.close()
        await self._child.kill()


def _ask(
    channel: BlockingChannel,
    entries: Sequence[LogEntry],
    rules: Mapping[int, IngestionSettings],
    types: Mapping[int, Mapping[str, int]],
) -> PreparedBatch | None:
    """raises: OSError"""
    channel.send(encode_request(entries, rules, types))
    response = channel.receive()
    if response is None:
        raise _has_ended()
    return decode_response(entries, response.content) if response.content else None


def _has_ended() -> OSError:
    return OSError("the preparer process has ended")
