"""Messages and descriptors between two event loops, and over blocking sockets."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fanion.processes import channel as channels
from fanion.processes.channel import HEADER, BlockingChannel, Channel, receive_first

WAIT_S = 60


class Hello(msgspec.Struct, tag=True, array_like=True, frozen=True):
    pass


class Content(msgspec.Struct, tag=True, array_like=True, frozen=True):
    content: bytes


Message = Hello | Content


@dataclass
class End:
    """One end of a line, and what it received: messages, with the content of their files."""

    came: list[tuple[Message, str | None]] = field(default_factory=list)
    is_lost: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)

    def receive(self, message: Message, file: int | None) -> None:
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
    first, other = socket.socketpair()
    connected = Line(
        Channel(first, Message, us.receive, us.lost),
        Channel(other, Message, them.receive, them.lost),
        us,
        them,
    )
    yield connected
    connected.ours.close()
    connected.theirs.close()


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
    sent: list[tuple[Message, str | None]] = []
    for number in range(300):
        sent += [(Hello(), None), (Content(b"x" * number), f"file {number}")]

    for message, text in sent:
        line.ours.send(message, None if text is None else file_of(text))
    await line.them.until(len(sent))

    assert line.them.came == sent


async def test_more_than_the_system_holds_waits_with_its_files(line: Line) -> None:
    sent = [(Content(bytes([number]) * 1_000_000), f"file {number}") for number in range(8)]

    for message, text in sent:
        line.ours.send(message, file_of(text))
    line.ours.send(Hello())
    await line.them.until(len(sent) + 1)

    assert line.them.came == [*sent, (Hello(), None)]


async def test_the_end_of_the_other_process_comes_after_its_last_message(line: Line) -> None:
    line.ours.send(Hello())
    line.ours.close()
    await line.them.until(2)

    assert (line.them.came, line.them.is_lost) == ([(Hello(), None)], True)
    assert not line.us.is_lost  # it was closed here


async def test_a_channel_ends_when_the_other_process_does_not_read() -> None:
    us = End()
    first, other = socket.socketpair()
    before = open_files()
    ours = Channel[Message](first, Message, us.receive, us.lost, unsent_bytes_max=3_000_000)

    for _ in range(8):
        ours.send(Content(b"x" * 1_000_000), file_of("lost"))

    assert us.is_lost
    other.close()
    assert open_files() == before - 2


async def test_what_cannot_be_decoded_ends_the_channel(line: Line) -> None:
    line.ours.send("no message of theirs")
    line.ours.send(Hello())

    await line.them.until(1)

    assert (line.them.came, line.them.is_lost) == ([], True)


async def test_a_large_message_may_wait_without_a_limit() -> None:
    us, them = End(), End()
    first, other = socket.socketpair()
    ours = Channel[Message](first, Message, us.receive, us.lost, unsent_bytes_max=None)
    message = Content(b"x" * (channels.UNSENT_BYTES_MAX + 1))

    ours.send(message)
    theirs = Channel[Message](other, Message, them.receive, them.lost)
    await them.until(1)

    assert them.came == [(message, None)]
    ours.close()
    theirs.close()


async def test_messages_after_its_end_are_dropped_and_their_descriptors_closed(line: Line) -> None:
    before = open_files()
    line.ours.close()

    line.ours.send(Hello())
    line.ours.send(Content(b"late"), file_of("late"))

    assert not line.ours.is_open
    assert open_files() == before - 1


async def test_a_receiver_may_close_the_channel_between_two_messages() -> None:
    before = open_files()
    first, other = socket.socketpair()
    came: list[Message] = []

    def receive(message: Message, file: int | None) -> None:
        came.append(message)
        assert file is not None
        os.close(file)
        theirs.close()
        closed.set()

    def lost() -> None:
        raise AssertionError("it was closed here")

    closed, us = asyncio.Event(), End()
    ours = Channel[Message](first, Message, us.receive, us.lost)
    for _ in range(3):
        ours.send(Content(b"x"), file_of("x"))
    theirs = Channel[Message](other, Message, receive, lost)
    async with asyncio.timeout(WAIT_S):
        await closed.wait()

    ours.close()
    assert came == [Content(b"x")]
    assert open_files() == before


Pair = tuple[BlockingChannel, BlockingChannel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    first, other = socket.socketpair()
    with BlockingChannel(first) as ours, BlockingChannel(other) as theirs:
        for end in (ours, theirs):
            end.set_timeout(60)
        yield ours, theirs


@pytest.mark.parametrize("size", [0, 1, 300_000, 5_000_000])
def test_a_frame_may_have_any_size(pair: Pair, size: int) -> None:
    ours, theirs = pair
    content = os.urandom(size)
    sending = threading.Thread(target=ours.send, args=(content,))
    sending.start()

    frame = theirs.receive()
    sending.join()

    assert frame == (content, None)


def test_frames_come_in_order_with_their_descriptors(pair: Pair) -> None:
    ours, theirs = pair
    reading, writing = os.pipe()
    for content, descriptor in ((b"a", None), (b"b", writing), (b"", None), (b"c", writing)):
        ours.send(content, descriptor)
    os.close(writing)

    frames = [frame for _ in range(4) if (frame := theirs.receive())]

    assert [frame.content for frame in frames] == [b"a", b"b", b"", b"c"]
    assert [frame.descriptor is not None for frame in frames] == [False, True, False, True]
    for frame in frames:
        if frame.descriptor is not None:
            os.write(frame.descriptor, frame.content)
            os.close(frame.descriptor)
    assert os.read(reading, 10) + os.read(reading, 10) == b"bc"
    os.close(reading)


def test_a_large_frame_carries_its_descriptor(pair: Pair) -> None:
    ours, theirs = pair
    with Path(os.devnull).open() as file:
        sending = threading.Thread(target=ours.send, args=(b"x" * 3_000_000, file.fileno()))
        sending.start()
        frame = theirs.receive()
        sending.join()

    assert frame is not None and frame.descriptor is not None
    assert Path(f"/proc/self/fd/{frame.descriptor}").readlink() == Path(os.devnull)
    os.close(frame.descriptor)


def test_frames_that_are_there_are_read_without_waiting(pair: Pair) -> None:
    ours, theirs = pair
    ours.send(b"one")
    ours.send(b"two")
    os.write(ours.fileno(), HEADER.pack(10, False) + b"half")

    assert [frame.content for frame in theirs.read()] == [b"one", b"two"]
    os.write(ours.fileno(), b"of it!")
    assert [frame.content for frame in theirs.read()] == [b"halfof it!"]


def test_the_end_within_a_frame_is_an_end(pair: Pair) -> None:
    ours, theirs = pair
    ours.send(b"whole")
    os.write(ours.fileno(), HEADER.pack(10, False) + b"half")
    ours.shutdown()

    assert theirs.receive() == (b"whole", None)
    assert theirs.receive() is None
    assert theirs.receive() is None


def test_descriptors_of_incomplete_frames_are_closed(pair: Pair) -> None:
    ours, theirs = pair
    before = open_files()
    with Path(os.devnull).open() as file:
        header = HEADER.pack(10, True)
        line = socket.socket(fileno=os.dup(ours.fileno()))
        with line:
            socket.send_fds(line, [header + b"half"], [file.fileno()])
        assert theirs.read() == []
    assert open_files() == before + 1

    theirs.close()

    assert open_files() == before - 1


def test_waiting_has_a_timeout(pair: Pair) -> None:
    ours, _ = pair
    ours.set_timeout(0.001)

    with pytest.raises(TimeoutError):
        ours.receive()


@pytest.mark.parametrize("size", [0, 5, 3_000_000])
def test_the_first_frame_is_received_alone(size: int) -> None:
    first, other = socket.socketpair()
    content = os.urandom(size)

    def send() -> None:
        ours.send(content)
        ours.send(b"next")

    with BlockingChannel(first) as ours, BlockingChannel(other) as theirs:
        sending = threading.Thread(target=send)
        sending.start()
        frame = receive_first(other)
        sending.join()

        assert frame == content
        assert theirs.receive() == (b"next", None)


@pytest.mark.parametrize("sent", [b"", b"\x05", HEADER.pack(5, False) + b"half"])
def test_there_is_no_first_frame_when_the_other_process_has_ended(sent: bytes) -> None:
    first, other = socket.socketpair()
    with other:
        with first:
            first.send(sent)
        assert receive_first(other) is None
