"""Requests at a fixed rate, which wrk does not know: each has its moment, and what it waited for
the requests before it counts, as it does for people."""

import asyncio
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

import uvloop

CONNECTIONS = 32
WARM_S = 1.0


@dataclass(frozen=True)
class Paced:
    """failed: answers that were not 200"""

    requests: int
    p50_ms: float
    p99_ms: float
    failed: int


def post(url: str, body: bytes, per_s: float, run_s: float = 5.0) -> Paced:
    return uvloop.run(_run(url, body, per_s, run_s))


async def _run(url: str, body: bytes, per_s: float, run_s: float) -> Paced:
    at = urlsplit(url)
    head = f"POST {at.path}?{at.query} HTTP/1.1\r\nHost: {at.netloc}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    free: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await asyncio.open_connection(at.hostname, at.port))
    took: list[float] = []
    failed = 0

    async def one(due: float, counts: bool) -> None:
        nonlocal failed
        reader, writer = await free.get()
        writer.write(head.encode() + body)
        status = await _answer(reader)
        free.put_nowait((reader, writer))
        if counts:
            took.append(time.perf_counter() - due)
            failed += status != 200

    async with asyncio.TaskGroup() as group:
        started = time.perf_counter()
        for number in range(int(per_s * (WARM_S + run_s))):
            due = started + number / per_s
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            group.create_task(one(due, due - started >= WARM_S))
    took.sort()
    ranks = (len(took) // 2, int(len(took) * 0.99))
    p50, p99 = (took[rank] * 1000 for rank in ranks)
    while not free.empty():
        free.get_nowait()[1].close()
    return Paced(len(took), p50, p99, failed)


async def _answer(reader: asyncio.StreamReader) -> int:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    )
    await reader.readexactly(length)
    return int(head[9:12])
