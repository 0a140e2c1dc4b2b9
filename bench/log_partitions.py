"""Appends to the accept log in PostgreSQL by several programs, with flushes 2 ms slower.

A partitioned log is measured beside a single one, in alternation. The floor is the single log.
Programs and PostgreSQL share the processors: on a machine with more of them, both are faster.
"""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from time import monotonic

import uvloop

from bench.report import Row
from fanion.accept_log.port import Envelope
from fanion.accept_log.postgres import open_postgres_log
from fanion.db.migrate import migrate
from fanion.ingest.partitioning import cut
from fanion.runtime.clock import utc_now
from tests.support.accept_logs import make_single
from tests.support.postgres import Postgres, private_postgres

SECONDS = float(os.environ.get("BENCH_LOG_S", "5"))
APPENDERS, ROUNDS = 64, 3
BYTES_MAX = 64 * 1024**3
# Like a cloud volume or a synchronous standby.
SLOW_FLUSH = ("fsync=on", "commit_delay=2000", "commit_siblings=0")
ITEM = '{"event":"seen","distinct_id":"user-%d","properties":{"text":"%s"}}'
# Name, programs, items in a request, wanted ratio. Cutting a request into 64 rows costs processor
# time.
CASES = (
    ("1 program, 300 B", 1, 1, 0.9),
    ("4 programs, 300 B", 4, 1, 3.0),
    ("4 programs, 256 events of 300 B", 4, 256, 0.9),
)


def run() -> Iterator[Row]:
    with private_postgres(SLOW_FLUSH) as server:
        for name, programs, items, target in CASES:
            single, divided = 0.0, 0.0
            for _ in range(ROUNDS):
                single = max(single, _appends_per_s(server, programs, items, is_single=True))
                divided = max(divided, _appends_per_s(server, programs, items, is_single=False))
            yield Row(
                f"appends/s, {name}",
                f"{divided:,.0f}",
                f"{single:,.0f}",
                divided / single,
                target,
            )


def _appends_per_s(server: Postgres, programs: int, items: int, *, is_single: bool) -> float:
    database = asyncio.run(_database(server, is_single))
    command = [sys.executable, "-m", "bench.log_partitions", server.url(database), str(items)]
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(programs)
    ]
    rates = [float(program.communicate()[0]) for program in running]
    asyncio.run(server.drop_database(database))
    return sum(rates)


async def _database(server: Postgres, is_single: bool) -> str:
    name = await server.create_database()
    await migrate(server.url(name))
    if is_single:
        await make_single(server.url(name))
    return name


async def append(url: str, items: int) -> float:
    """Return the appends of this program per second."""
    log = await open_postgres_log(url, bytes_max=BYTES_MAX, cut=cut)
    count, give_up = 0, monotonic() + SECONDS

    async def go_on(number: int) -> None:
        nonlocal count
        users = range(number * items, (number + 1) * items)
        body = ",".join(ITEM % (user, "x" * 230) for user in users)
        if items > 1:
            body = f"[{body}]"
        while monotonic() < give_up:
            await log.append(Envelope(1, utc_now(), "", "", None, body.encode()))
            count += 1

    await asyncio.gather(*map(go_on, range(APPENDERS if items == 1 else APPENDERS // 4)))
    await log.close()
    return count / SECONDS


if __name__ == "__main__":
    print(uvloop.run(append(sys.argv[1], int(sys.argv[2]))))
