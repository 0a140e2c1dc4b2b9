"""Typed messages and file descriptors, in order, between this event loop and another process."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from fanion.processes.framing import HEADER, FrameReader

UNSENT_BYTES_MAX = 64 * 1024**2

_encode = msgspec.msgpack.Encoder().encode

T = TypeVar("T")


class Channel(Generic[T]):
    """message_type:     T, which is a union of tagged structs
    receive:          is called with each message and its descriptor, which it has to close
    lost:             is called once when the channel ends by itself: the other process has
                      closed it, sends what cannot be decoded, or does not read any more
    unsent_bytes_max: at which `send` decides that the other process does not read any more;
                      None when the caller awaits an answer to each message
    """

    def __init__(
        self,
        line: socket.socket,
        message_type: Any,
        receive: Callable[[T, int | None], None],
        lost: Callable[[], None],
        unsent_bytes_max: int | None = UNSENT_BYTES_MAX,
    ) -> None:
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
        """Send at once, or as soon as the other process reads; nothing when the channel has
        ended.

        descriptor: is closed here
        """
        if not self.is_open:
            _close(descriptor)
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
        """At once; what is not sent yet is dropped."""
        if not self.is_open:
            return
        self.is_open = False
        self._loop.remove_reader(self._line)
        self._loop.remove_writer(self._line)
        self._line.close()
        self._reader.close()
        for _, descriptor in self._unsent:
            _close(descriptor)
        self._unsent.clear()

    def _end(self) -> None:
        if self.is_open:
            self.close()
            self._lost()

    def _write(self) -> None:
        """As much as the other process takes now."""
        while self.is_open and self._unsent:
            data, descriptor = self._unsent[0]
            try:
                if descriptor is None:  # half the time of a message that may carry some
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
            _close(descriptor)
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
            goes_on = self._reader.read()
        except BlockingIOError:
            return
        except OSError:
            goes_on = False
        for content, descriptor in self._reader.frames():
            try:
                message = self._decode(content)
            except msgspec.DecodeError:
                _close(descriptor)
                goes_on = False
                break
            self._receive(message, descriptor)
            if not self.is_open:
                return
        if not goes_on:
            self._end()


def _close(descriptor: int | None) -> None:
    if descriptor is not None:
        os.close(descriptor)
