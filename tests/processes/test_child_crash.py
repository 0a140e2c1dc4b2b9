"""Real child processes: started, restarted with backoff, killed, and ended."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from fanion.processes import child as children
from fanion.processes.channel import HEADER, BlockingChannel
from fanion.processes.child import RESTART_S, RESTART_S_MAX, Child
from tests.support.awaited import until

pytestmark = pytest.mark.quick

ECHO = "tests.support.echo_child"
PARENT = """
import asyncio, sys, time
from fanion.processes import child as children
from fanion.processes.child import Child

async def main():
    child = Child("tests.support.echo_child", ["0"])
    line = await child.start()
    print(child.pid, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


class Clock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@asynccontextmanager
async def started_child(child: Child) -> AsyncIterator[BlockingChannel]:
    channel = BlockingChannel(await child.start())
    channel.set_timeout(60)
    try:
        yield channel
    finally:
        channel.close()
        await child.end()


def echoed(channel: BlockingChannel, content: bytes) -> bytes | None:
    channel.send(content)
    frame = channel.receive()
    return None if frame is None else frame.content


async def test_a_child_answers_and_ends_at_the_end_of_its_channel() -> None:
    child = Child(ECHO, ["0"])
    async with started_child(child) as channel:
        assert echoed(channel, b"hello") == b"hello"

    assert not child.is_running
    assert await child.wait() == 0


async def test_a_child_gets_and_sends_descriptors() -> None:
    reading, writing = os.pipe()
    async with started_child(Child(ECHO, ["0"])) as channel:
        channel.send(b"take", writing)
        os.close(writing)
        frame = channel.receive()

    assert frame is not None and frame.descriptor is not None
    os.write(frame.descriptor, b"through the child")
    os.close(frame.descriptor)
    assert os.read(reading, 100) == b"through the child"
    assert os.read(reading, 100) == b""  # no other copy is open
    os.close(reading)


async def test_a_child_inherits_the_descriptors_it_is_given_and_no_other(tmp_path: Path) -> None:
    with (tmp_path / "given").open("w") as given, (tmp_path / "other").open("w") as other:
        child = Child(ECHO, ["0"], [given.fileno()])
        async with started_child(child) as channel:
            assert echoed(channel, b"started") == b"started"
            links = open_files(child.pid)
        names = Path(given.name), Path(other.name)

    assert [name in links for name in names] == [True, False]


async def test_a_child_ignores_the_signals_that_its_parent_handles() -> None:
    child = Child(ECHO, ["0"])
    async with started_child(child) as channel:
        assert echoed(channel, b"started") == b"started"
        assert child.pid is not None
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(child.pid, number)
        assert echoed(channel, b"still there") == b"still there"

    assert await child.wait() == 0


async def test_a_child_that_does_not_end_is_killed() -> None:
    child = Child(ECHO, ["600"], end_s_max=0.05)
    async with started_child(child) as channel:
        assert echoed(channel, b"started") == b"started"

    assert await child.wait() == -signal.SIGKILL


async def test_a_child_that_is_killed_within_a_frame_ends_the_channel() -> None:
    child = Child(ECHO, ["0"])
    async with started_child(child) as channel:
        assert echoed(channel, b"whole") == b"whole"
        assert child.pid is not None
        os.kill(child.pid, signal.SIGSTOP)
        os.write(channel.fileno(), HEADER.pack(100, False) + b"half of it")
        os.kill(child.pid, signal.SIGKILL)

        with pytest.raises(ConnectionError):  # it had not read everything
            channel.receive()
    assert await child.wait() == -signal.SIGKILL


async def test_a_child_that_ends_is_started_again_with_backoff() -> None:
    clock = Clock()
    child = Child(ECHO, ["0"], now=clock)

    waits = []
    for _ in range(5):
        async with started_child(child) as channel:
            channel.send(b"exit 1")
            assert await child.wait() == 1
        waits.append(child.restart_in_s)
        if child.restart_in_s:
            with pytest.raises(OSError, match=f"{ECHO} has ended"):
                await child.start()
        clock.seconds += child.restart_in_s

    assert waits == [0, RESTART_S, 2 * RESTART_S, 4 * RESTART_S, 8 * RESTART_S]


@pytest.mark.parametrize(("code", "lasted_s"), [(0, 0.0), (1, RESTART_S_MAX + 1)])
async def test_backoff_begins_anew_after_a_success_or_a_long_run(
    code: int, lasted_s: float
) -> None:
    clock = Clock()
    child = Child(ECHO, ["0"], now=clock)
    for _ in range(3):
        async with started_child(child) as channel:
            channel.send(b"exit 1")
            await child.wait()
        clock.seconds += child.restart_in_s
    async with started_child(child) as channel:
        channel.send(b"exit %d" % code)
        await child.wait()
    clock.seconds += max(lasted_s, child.restart_in_s)

    async with started_child(child):
        pass

    assert child.restart_in_s == 0


async def test_a_start_may_wait_until_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "RESTART_S", 0.01)
    child, codes = Child(ECHO, ["0"]), []

    for code in (1, 2, 3, 4):
        channel = BlockingChannel(await child.start_when_due())
        channel.send(b"exit %d" % code)
        codes.append(await child.wait())
        channel.close()

    assert codes == [1, 2, 3, 4]


async def test_what_cannot_be_started_backs_off_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    clock = Clock()
    child = Child(ECHO, now=clock)

    waits = []
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            await child.start()
        waits.append(child.restart_in_s)
        clock.seconds += child.restart_in_s

    assert waits == [0, RESTART_S, 2 * RESTART_S]
    await child.end()


def test_a_child_ends_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())

    parent.kill()
    parent.wait()
    parent.stdout.close()

    until(lambda: not is_running(child), "the child is left over")


def open_files(pid: int | None) -> set[Path]:
    files = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # it has been closed since
            files.add(link.readlink())
    return files


def is_running(pid: int) -> bool:
    """Return whether a process runs; one that has ended and was not waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
