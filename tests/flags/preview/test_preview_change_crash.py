"""The process that counts for change previews: its client leaves, it is killed, the server ends."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.awaited import until, until_soon
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys, RealServer, expect_created, project_client
from tests.support.suspended_process import processes

PLACE = "/feature_flags/preview_change/"
# The client of a question disconnects after 0.2 s.
LEFT_AFTER = httpx.Timeout(60, read=0.2)

pytestmark = [
    pytest.mark.skipif(
        not Path("/proc/self/task").exists(), reason="only Linux lists what a process has started"
    ),
    pytest.mark.long("starts real servers and kills them"),
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RealServer]:
    server = PreloadedServer(tmp_path / "data")
    yield server
    server.close()


@pytest.fixture
async def client(server: RealServer) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a server that has answered one question."""
    keys: Keys = server.setup()
    server.start()
    async with project_client(server, keys) as client:
        await expect_created(client, "/feature_flags/", key="f")
        assert (await counted(client))["total_persons"] == 0
        yield client


async def counted(client: httpx.AsyncClient) -> Any:
    answer = await client.post(PLACE, json={"key": "new"})
    assert answer.status_code == 200, answer.text
    return answer.json()


def process_of(server: RealServer) -> int:
    [pid] = change_processes(server)
    return pid


def change_processes(server: RealServer) -> list[int]:
    return [pid for pid in processes(server.pid) if "change_main" in command(pid)]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def is_gone(pid: int) -> bool:
    return not command(pid)


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def statuses(server: RealServer) -> list[int]:
    return [line["status"] for line in server.log_lines() if line.get("path", "").endswith(PLACE)]


async def test_a_client_that_goes_away_abandons_its_question(
    server: RealServer, client: httpx.AsyncClient
) -> None:
    pid = process_of(server)

    # A slow server may not have read a request yet when its client disconnects, so try again.
    async def is_abandoned() -> bool:
        with pytest.raises(httpx.ReadTimeout):
            await client.post(PLACE, json={"key": "new"}, timeout=LEFT_AFTER)
        return 499 in statuses(server)

    with stopped(pid):
        # The process cannot answer, so the server must have noticed that the client disconnected.
        await until_soon(is_abandoned, "the request has not ended")

    assert (await counted(client))["exact"] is True
    assert process_of(server) == pid


async def test_a_killed_process_is_a_clear_error_and_the_next_request_is_answered(
    server: RealServer, client: httpx.AsyncClient
) -> None:
    pid = process_of(server)

    os.kill(pid, signal.SIGSTOP)
    asking = asyncio.create_task(client.post(PLACE, json={"key": "new"}))
    await asyncio.wait([asking], timeout=0.5)
    os.kill(pid, signal.SIGKILL)
    answer = await asking

    # If the process ended before it got the question, another one has answered.
    assert answer.status_code in {200, 503}
    if answer.status_code == 503:
        assert answer.json() == {
            "type": "server_error",
            "code": "preview_failed",
            "detail": "The process that evaluates the change has ended. Please retry.",
            "attr": None,
        }
        assert answer.headers["retry-after"] == "1"
    assert (await counted(client))["exact"] is True
    assert process_of(server) != pid


@pytest.mark.parametrize("is_killed", [False, True])
async def test_nothing_is_left_over_when_the_server_ends(
    server: RealServer, client: httpx.AsyncClient, is_killed: bool
) -> None:
    pid = process_of(server)

    if is_killed:
        server.kill()
    else:
        assert await asyncio.to_thread(server.stop) == 0

    await asyncio.to_thread(until, partial(is_gone, pid), "a process is left over")
