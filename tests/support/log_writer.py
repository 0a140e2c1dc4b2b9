"""A program that appends until it is killed, and prints what was acknowledged.

Its arguments are the URL or path of the log, and the number of concurrent appenders.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime

from fanion.accept_log.port import AcceptLog, Envelope
from tests.support.accept_logs import open_log


async def append_for_ever(location: str, appenders: int) -> None:
    log = await open_log(location)
    await asyncio.gather(*(_append(log, number) for number in range(appenders)))


async def _append(log: AcceptLog, number: int) -> None:
    turn = 0
    while True:
        turn += 1
        body = f"{os.getpid()}/{number}/{turn} {'x' * (turn * 37 % 3000)}".encode()
        envelope = Envelope(1, datetime.now(UTC), "", "", None, body, historical=turn % 5 == 0)
        entry_id = await log.append(envelope)
        # Unbuffered and in one write, so that a kill cuts no line in two.
        os.write(1, b"%d %s\n" % (entry_id, body.partition(b" ")[0]))


if __name__ == "__main__":
    asyncio.run(append_for_ever(sys.argv[1], int(sys.argv[2])))
