"""Messages and open files between a server and its fronts."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from fanion.processes import channel as channels
from fanion.processes.channel import Channel
from fanion.processes.messages import AskRoom, FromFront, Ready, Take
from fanion.processes.shared_counters import Board

WAIT_S = 10


@dataclass
class End:
    """One end of a line, and what came in there: messages, and what stood in their files."""

    came: list[tuple[FromFront, str | None]] = field(default_factory=list)
    is_lost: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def receive(self, message: FromFront, file: int | None) -> None:
        self.came.append((message, None if file is None else read_and_close(file)))
        self.moved.set()

    def lost(self) -> None:
        self.is_lost = True
        self.moved.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while len(self.came) < count and not self.is_lost:
                self.moved.clear()
                await self.moved.wait()


@dataclass
class Line:
    ours: Channel[Any]
    theirs: Channel[Any]
    us: End
    them: End


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    us, them = End(), End()
    one, other = socket.socketpair()
    made = Line(
        Channel(one, FromFront, us.receive, us.lost),
        Channel(other, FromFront, them.receive, them.lost),
        us,
        them,
    )
    yield made
    made.ours.close()
    made.theirs.close()


def file_of(text: str) -> int:
    file, end = os.pipe()
    os.write(end, text.encode())
    os.close(end)
    return file


def read_and_close(file: int) -> str:
    text = os.read(file, 100).decode()
    os.close(file)
    return text


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_messages_and_their_files_come_in_order(line: Line) -> None:
    sent: list[tuple[FromFront, str | None]] = []
    for number in range(300):
        sent += [(AskRoom(number, 1, 2, 3, 4.5), None), (Take(b"x" * number), f"file {number}")]

    for message, text in sent:
        line.ours.send(message, None if text is None else file_of(text))
    await line.them.until(len(sent))

    assert line.them.came == sent


async def test_more_than_the_system_holds_waits_with_its_files(line: Line) -> None:
    sent = [(Take(bytes([number]) * 1_000_000), f"file {number}") for number in range(8)]

    for message, text in sent:
        line.ours.send(message, file_of(text))
    line.ours.send(Ready())
    await line.them.until(len(sent) + 1)

    assert line.them.came == [*sent, (Ready(), None)]


async def test_the_end_of_the_other_process_is_told_after_what_it_had_said(line: Line) -> None:
    line.ours.send(Ready())
    line.ours.close()
    await line.them.until(2)

    assert (line.them.came, line.them.is_lost) == ([(Ready(), None)], True)
    assert not line.us.is_lost  # it was closed here


async def test_what_nobody_reads_is_not_kept_for_ever(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "WAITING_BYTES_MAX", 3_000_000)
    before = open_files()

    for _ in range(8):
        line.ours.send(Take(b"x" * 1_000_000), file_of("lost"))

    assert line.us.is_lost
    line.theirs.close()
    assert open_files() == before - 2


def test_each_process_sees_the_numbers_of_the_others(tmp_path: Path) -> None:
    with (tmp_path / "board").open("w+b") as file:
        server, front = Board.make(file.fileno(), 2), Board(file.fileno(), 2)

        server.changes += 3
        server.writes[0] += 5
        front.answered(1)[0] += 7
        front.closed(0)[0] += 9

        assert (front.changes, front.writes[0]) == (3, 5)
        assert [server.answered(number)[0] for number in range(2)] == [0, 7]
        assert [server.closed(number)[0] for number in range(2)] == [9, 0]
        server.begin(1)
        assert (front.answered(1)[0], front.closed(0)[0]) == (0, 9)
