"""A program whose accept log may not grow for a while, and then may again.

It prints how many envelopes were refused in each of the two times, and whether exactly the others
could be read after each. Its argument is the path of the log.
"""

import asyncio
import random
import resource
import sys
from contextlib import suppress
from pathlib import Path

from fanion.accept_log.port import START, AcceptLog
from fanion.accept_log.sqlite import open_sqlite_log
from tests.support.accept_logs import BYTES_MAX, entry_ids, envelope, read_all

FILE_BYTES_MAX = 300_000
BODY_BYTES = 5_000
ENVELOPES = 400


async def append_on_a_small_disk(path: str) -> None:
    log = await open_sqlite_log(Path(path), bytes_max=BYTES_MAX)
    writer = log.writer.pid
    assert writer is not None
    await log.read(START, 1, 1)  # a reader keeps the write-ahead log from being removed
    _, hard = resource.prlimit(writer, resource.RLIMIT_FSIZE)

    resource.prlimit(writer, resource.RLIMIT_FSIZE, (FILE_BYTES_MAX, hard))
    small = await append_often(log)
    is_exact = entry_ids(await read_all(log)) == small

    resource.prlimit(writer, resource.RLIMIT_FSIZE, (hard, hard))
    large = await append_often(log)
    is_exact_later = entry_ids(await read_all(log)) == small + large
    await log.close()
    print(ENVELOPES - len(small), ENVELOPES - len(large), is_exact, is_exact_later)


async def append_often(log: AcceptLog) -> list[int]:
    """Return the ids of those that were not refused."""
    acknowledged = []
    for number in range(ENVELOPES):
        # A body that cannot be compressed, or the disk would not be small.
        body = random.Random(number).randbytes(BODY_BYTES)
        with suppress(OSError):
            acknowledged.append(await log.append(envelope(body)))
    return acknowledged


if __name__ == "__main__":
    asyncio.run(append_on_a_small_disk(sys.argv[1]))
