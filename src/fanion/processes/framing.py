"""The wire format between two processes of this machine, and its blocking end.

A frame is a header (the length of its content, and whether a file descriptor comes with it) and
its content. It needs no event loop, so that a process that has none starts without loading one;
`channel.Channel` is the other end for processes that have one.
"""

import array
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple, Self

READ_BYTES = 256 * 1024
DESCRIPTORS_MAX = 64  # of one read; the system lets one message carry 253
COPIED_BYTES_MAX = 64 * 1024
HEADER: Final = Struct("<I?")

_ANCILLARY_BYTES = socket.CMSG_SPACE(DESCRIPTORS_MAX * array.array("i").itemsize)


class Frame(NamedTuple):
    """descriptor: an open file, which the receiver has to close"""

    content: bytes
    descriptor: int | None


class FrameReader:
    """Cuts what a socket receives into frames."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        # One buffer for all reads: blocks of this size come from the kernel, and go back to it.
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._received = bytearray()
        self._descriptors: deque[int] = deque()

    def read(self) -> bool:
        """Receive once; False at the end. raises: OSError, BlockingIOError when there is nothing"""
        size, ancillary, _, _ = self._line.recvmsg_into([self._buffer], _ANCILLARY_BYTES)
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._descriptors += array.array("i", data)
        self._received += self._buffer[:size]
        return size > 0

    def frames(self) -> Iterator[Frame]:
        """Those that are complete."""
        while len(self._received) >= HEADER.size:
            size, has_descriptor = HEADER.unpack_from(self._received)
            end = HEADER.size + size
            if len(self._received) < end:
                return
            with memoryview(self._received) as received:
                content = bytes(received[HEADER.size : end])
            del self._received[:end]
            # It came with the first byte of its frame, or before.
            yield Frame(content, self._descriptors.popleft() if has_descriptor else None)

    def close(self) -> None:
        """Close the descriptors of frames that were never complete."""
        while self._descriptors:
            os.close(self._descriptors.popleft())


class BlockingChannel(FrameReader):
    """Frames over a socket, for a process or a thread that waits for them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._line.fileno()

    def set_timeout(self, seconds: float | None) -> None:
        """As `socket.settimeout`, of sending and receiving."""
        self._line.settimeout(seconds)

    def send(self, content: bytes, descriptor: int | None = None) -> None:
        """descriptor: stays open here. raises: OSError"""
        header = HEADER.pack(len(content), descriptor is not None)
        # One system call for a small frame, no copy of a large one.
        is_small = len(content) < COPIED_BYTES_MAX
        first, rest = (header + content, b"") if is_small else (header, content)
        if descriptor is None:
            sent = self._line.send(first)
        else:
            sent = socket.send_fds(self._line, [first], [descriptor])
        for part in (first[sent:], rest):
            if part:
                self._line.sendall(part)

    def receive(self) -> Frame | None:
        """Wait for a frame; None at the end of the stream. raises: OSError"""
        while (frame := next(self.frames(), None)) is None:
            if not self.read():
                return None
        return frame

    def shutdown(self) -> None:
        """End a `send` or `receive` of another thread; the other process reads the end."""
        self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        self._line.close()


def socket_to_parent() -> socket.socket:
    """In a process that `child.Child` started: its end ends this process.

    Signals of a terminal or a service manager go to all processes of a service. This one ignores
    them, so that its parent can still use it while it stops.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return socket.socket(fileno=int(sys.argv[1]))
