"""A server that catches up with the preparer's help is killed again and again.

Every event is stored once, every person is right, and no process is left running.
"""

import asyncio
import random
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from fanion.ingest.pipeline.reader import BATCH_BYTES_MAX
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.outcome import all_events, until_caught_up
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, project_client
from tests.support.suspended_process import processes

pytestmark = pytest.mark.long("starts real servers and kills them")

ROUNDS = 3
# One request is a full batch, however fast or slow this machine is: the body has half of the bytes
# that a batch may have.
TEXT = "x" * 60_000
EVENTS = BATCH_BYTES_MAX // 2 // len(TEXT) + 1
PERSONS = 40

Json = dict[str, Any]


def item(number: int) -> Json:
    person = f"user-{number % PERSONS}"
    made: Json = {
        "event": "read",
        "distinct_id": person,
        "properties": {"name": number, "text": TEXT, "$groups": {"org": f"o{number % 3}"}},
        "$set": {"last": number},
    }
    if number % 7 == 0:
        made["properties"]["odd"] = [{"n": number}]
    if number % 11 == 0:
        made["event"] = "$identify"
        made["properties"]["$anon_distinct_id"] = f"visitor-{number}"
    return made


async def send(http: httpx.AsyncClient, keys: Keys, first: int) -> int:
    """Send a batch; return the number after the last one sent."""
    batch = [item(number) for number in range(first, first + EVENTS)]
    body = msgspec.json.encode({"api_key": keys.project_api_key, "batch": batch})
    answer = await http.post("/batch/", content=body)
    assert answer.status_code == 200, answer.text
    return first + EVENTS


def preparer_processes(server: RealServer) -> list[int]:
    """Return the preparer processes of the server."""
    return [pid for pid in processes(server.pid) if "preparer_main" in command(pid)]


def have_ended(pids: list[int]) -> bool:
    return not any(map(command, pids))


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="only Linux lists what a process has started"
)
async def test_nothing_is_lost_or_there_twice_or_left_over(tmp_path: Path) -> None:
    server = PreloadedServer(tmp_path / "data", {"FANION_PROCESSES": "2"})
    keys, chance = server.setup(), random.Random(7)
    sent = 0
    try:
        for _ in range(ROUNDS):
            server.start()
            async with plain_http.AsyncClient(base_url=server.url) as http:
                sent = await send(http, keys, sent)
                await asyncio.to_thread(
                    until, partial(preparer_processes, server), "no preparer was started"
                )
                sent = await send(http, keys, sent)  # for the preparer, if it is ready by then
            await asyncio.sleep(chance.random())
            left = preparer_processes(server)
            server.kill()
            until(partial(have_ended, left), "a process is left over")
        server.start()
        async with project_client(server, keys) as http:
            await until_caught_up(http)
            stored = await all_events(http)
            persons = (await http.get("/persons/?limit=1000")).json()["results"]
            totals = (await http.get("/ingestion/")).json()["totals"]
        assert server.stop() == 0
    finally:
        server.close()

    assert Counter(event["properties"]["name"] for event in stored) == Counter(range(sent))
    for event in stored:
        number = event["properties"]["name"]
        assert event["properties"]["$group_0"] == f"o{number % 3}"
        assert event["properties"].get("odd") == ([{"n": number}] if number % 7 == 0 else None)
    assert totals["stored"] == sent
    last = {f"user-{number % PERSONS}": number for number in range(sent)}
    last_values = {
        name: person["properties"]["last"]
        for person in persons
        for name in person["distinct_ids"]
        if name in last
    }
    assert last_values == last
    assert len(persons) == PERSONS
