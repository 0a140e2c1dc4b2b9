"""The channels between two processes of this machine: messages and file descriptors, in order.

A frame is a header (the length of its content, and whether a file descriptor comes with it) and
its content. `Channel` sends and receives in an event loop, `BlockingChannel` without one.
"""

import array
import os
import signal
import socket
import sys
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar

import msgspec

READ_BYTES = 256 * 1024
DESCRIPTORS_MAX = 64  # in one read; the system lets one message carry 253
COPIED_BYTES_MAX = 64 * 1024
UNSENT_BYTES_MAX = 64 * 1024**2
HEADER: Final = Struct("<I?")

_ANCILLARY_BYTES = socket.CMSG_SPACE(DESCRIPTORS_MAX * array.array("i").itemsize)

_encode = msgspec.msgpack.Encoder().encode

T = TypeVar("T")


class Frame(NamedTuple):
    """A message as it is received.

    Attributes:
        descriptor: An open file, which the receiver has to close.
    """

    content: bytes
    descriptor: int | None


class FrameReader:
    """A reader that cuts the bytes received from a socket into frames."""

    def __init__(self, line: socket.socket) -> None:
        self.is_ended = False  # nothing more can be received
        self._line = line
        # One buffer for all reads, since blocks of this size are otherwise taken from the kernel
        # and returned to it each time.
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._received = bytearray()
        self._descriptors: deque[int] = deque()

    def fill(self) -> None:
        """Receive once.

        Raises:
            OSError: The socket has failed; a BlockingIOError says that there is nothing to
                receive.
        """
        size, ancillary, _, _ = self._line.recvmsg_into([self._buffer], _ANCILLARY_BYTES)
        for level, kind, data in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                self._descriptors += array.array("i", data)
        self._received += self._buffer[:size]
        self.is_ended = size == 0

    def next_frame(self) -> Frame | None:
        """Return the next complete frame, or None."""
        if len(self._received) < HEADER.size:
            return None
        size, has_descriptor = HEADER.unpack_from(self._received)
        end = HEADER.size + size
        if len(self._received) < end:
            return None
        with memoryview(self._received) as received:
            content = bytes(received[HEADER.size : end])
        del self._received[:end]
        # The descriptor came with the first byte of its frame, or before.
        return Frame(content, self._descriptors.popleft() if has_descriptor else None)

    def close(self) -> None:
        """Close the descriptors of incomplete frames."""
        while self._descriptors:
            os.close(self._descriptors.popleft())


class Channel(Generic[T]):
    """Typed messages between this event loop and another process.

    Args:
        message_type: T, a union of tagged structs.
        receive: Called with each message and its descriptor, which it has to close.
        lost: Called once when the channel ends by itself: the other process has closed it, sends
            what cannot be decoded, or has stopped reading.
        unsent_bytes_max: The amount at which `send` decides that the other process has stopped
            reading; None if the caller awaits an answer to each message.
    """

    def __init__(
        self,
        line: socket.socket,
        message_type: Any,
        receive: Callable[[T, int | None], None],
        lost: Callable[[], None],
        unsent_bytes_max: int | None = UNSENT_BYTES_MAX,
    ) -> None:
        import asyncio  # here, so that a process without an event loop starts without it

        line.setblocking(False)
        self._line = line
        self._reader = FrameReader(line)
        self._decode: Callable[[bytes], T] = msgspec.msgpack.Decoder(message_type).decode
        self._receive = receive
        self._lost = lost
        self._unsent_bytes_max = unsent_bytes_max
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[tuple[memoryview, int | None]] = deque()
        self._unsent_bytes = 0
        self.is_open = True
        self._awaits_room = False
        self._loop.add_reader(line, self._read)

    def send(self, message: object, descriptor: int | None = None) -> None:
        """Send at once or as soon as the other process reads, unless the channel has ended.

        Args:
            descriptor: Closed here.
        """
        if not self.is_open:
            _close_descriptor(descriptor)
            return
        content = _encode(message)
        data = HEADER.pack(len(content), descriptor is not None) + content
        self._unsent.append((memoryview(data), descriptor))
        self._unsent_bytes += len(data)
        if len(self._unsent) == 1:
            self._write()
        if self._unsent_bytes_max is not None and self._unsent_bytes > self._unsent_bytes_max:
            self._end()

    def close(self) -> None:
        """Close the channel at once, and drop what has not been sent."""
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._line)
        self._loop.remove_writer(self._line)
        self._line.close()
        self._reader.close()
        for _, descriptor in self._unsent:
            _close_descriptor(descriptor)
        self._unsent.clear()

    def _end(self) -> None:
        if self.is_open:
            self.close()
            self._lost()

    def _write(self) -> None:
        """Write as much as the other process takes now."""
        while self.is_open and self._unsent:
            data, descriptor = self._unsent[0]
            try:
                if descriptor is None:  # half the time of a message that may carry one
                    sent = self._line.send(data)
                else:
                    sent = socket.send_fds(self._line, [data], [descriptor])
            except BlockingIOError:
                if not self._awaits_room:
                    self._awaits_room = True
                    self._loop.add_writer(self._line, self._write)
                return
            except OSError:
                self._end()
                return
            _close_descriptor(descriptor)
            self._unsent_bytes -= sent
            if sent == len(data):
                self._unsent.popleft()
            else:
                self._unsent[0] = data[sent:], None
        if self._awaits_room:
            self._awaits_room = False
            self._loop.remove_writer(self._line)

    def _read(self) -> None:
        try:
            self._reader.fill()
        except BlockingIOError:
            return
        except OSError:
            self._end()
            return
        while self.is_open and (frame := self._reader.next_frame()) is not None:
            self._dispatch(*frame)
        if self._reader.is_ended:
            self._end()

    def _dispatch(self, content: bytes, descriptor: int | None) -> None:
        try:
            message = self._decode(content)
        except msgspec.DecodeError:
            _close_descriptor(descriptor)
            self._end()
        else:
            self._receive(message, descriptor)


class BlockingChannel(FrameReader):
    """A socket's frames, for a process or a thread that waits for them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        return self._line.fileno()

    def set_timeout(self, seconds: float | None) -> None:
        """Limit the time of sending and receiving, as `socket.settimeout` does."""
        self._line.settimeout(seconds)

    def send(self, content: bytes, descriptor: int | None = None) -> None:
        """Send a frame.

        Args:
            descriptor: Stays open here.

        Raises:
            OSError: The socket has failed.
        """
        header = HEADER.pack(len(content), descriptor is not None)
        # Take one system call for a small frame, and copy no large one.
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
        """Wait for a frame, and return None at the end of the stream.

        Raises:
            OSError: The socket has failed.
        """
        while (frame := self.next_frame()) is None:
            self.fill()
            if self.is_ended:
                return None
        return frame

    def read(self) -> list[Frame]:
        """Receive once, and return the frames that are complete.

        Raises:
            OSError: The socket has failed; a BlockingIOError says that there is nothing to
                receive.
        """
        self.fill()
        frames = []
        while (frame := self.next_frame()) is not None:
            frames.append(frame)
        return frames

    def shutdown(self) -> None:
        """End a `send` or `receive` of another thread, and the stream of the other process."""
        self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        super().close()
        self._line.close()


def receive_first(line: socket.socket) -> bytes | None:
    """Return the content of the first frame, before a `Channel` receives the next ones.

    Returns:
        None if the other process has ended.

    Raises:
        OSError: The socket has failed.
    """
    header = line.recv(HEADER.size, socket.MSG_WAITALL)
    if len(header) < HEADER.size:
        return None
    size, _ = HEADER.unpack(header)
    content = line.recv(size, socket.MSG_WAITALL)
    return content if len(content) == size else None


def socket_to_parent() -> socket.socket:
    """Return the channel to the parent, in a process that `child.Child` has started.

    When the channel ends, this process must end. Signals of a terminal or a service manager go to
    all processes of a service. This one ignores them, so that its parent can still use it while it
    stops.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return socket.socket(fileno=int(sys.argv[1]))


def _close_descriptor(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
