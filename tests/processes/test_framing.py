"""Frames and descriptors over blocking sockets."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanion.processes.framing import HEADER, BlockingChannel

Pair = tuple[BlockingChannel, BlockingChannel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    one, other = socket.socketpair()
    with BlockingChannel(one) as ours, BlockingChannel(other) as theirs:
        for end in (ours, theirs):
            end.set_timeout(60)
        yield ours, theirs


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


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

    assert theirs.read()
    assert [frame.content for frame in theirs.frames()] == [b"one", b"two"]
    os.write(ours.fileno(), b"of it!")
    assert theirs.read()
    assert [frame.content for frame in theirs.frames()] == [b"halfof it!"]


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
    before = open_descriptors()
    with Path(os.devnull).open() as file:
        header = HEADER.pack(10, True)
        line = socket.socket(fileno=os.dup(ours.fileno()))
        with line:
            socket.send_fds(line, [header + b"half"], [file.fileno()])
        theirs.read()
    assert list(theirs.frames()) == []
    assert open_descriptors() == before + 1

    theirs.close()

    assert open_descriptors() == before - 1


def test_waiting_has_a_timeout(pair: Pair) -> None:
    ours, _ = pair
    ours.set_timeout(0.001)

    with pytest.raises(TimeoutError):
        ours.receive()
