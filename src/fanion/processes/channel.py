"""Messages and open files, in order, between two processes of this machine."""

import asyncio
import os
import socket
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Generic, TypeVar

import msgspec

from fanion.processes.messages import WITH_FILE

READ_BYTES = 256 * 1024
FILES_AT_ONCE = 64  # of one read; fewer than the 253 that the system lets one message carry
WAITING_BYTES_MAX = 64 * 1024**2  # for a process that reads nothing any more

_LENGTH = Struct("<I")
_encode = msgspec.msgpack.Encoder().encode

T = TypeVar("T")


class Channel(Generic[T]):
    """kind:    T, which is a union
    receive: is called with each message, and the file that it carries, which it has to close
    lost:    is called once, when the other process has gone
    """

    def __init__(
        self,
        line: socket.socket,
        kind: Any,
        receive: Callable[[T, int | None], None],
        lost: Callable[[], None],
    ) -> None:
        line.setblocking(False)
        self._line = line
        self._decode: Callable[[bytes], T] = msgspec.msgpack.Decoder(kind).decode
        self._receive = receive
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._files: deque[int] = deque()
        self._waiting: deque[tuple[bytes, int | None]] = deque()
        self._waiting_bytes = 0
        self._is_open = True
        self._loop.add_reader(line, self._read)

    def send(self, message: object, file: int | None = None) -> None:
        """file: is closed here"""
        if not self._is_open:
            if file is not None:
                os.close(file)
            return
        content = _encode(message)
        data = _LENGTH.pack(len(content)) + content
        self._waiting.append((data, file))
        self._waiting_bytes += len(data)
        if len(self._waiting) == 1:
            self._write()
        if self._waiting_bytes > WAITING_BYTES_MAX:
            self._end()

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._line)
        self._loop.remove_writer(self._line)
        self._line.close()
        for file in (*self._files, *(file for _, file in self._waiting if file is not None)):
            os.close(file)
        self._files.clear()
        self._waiting.clear()

    def _end(self) -> None:
        if self._is_open:
            self.close()
            self._lost()

    def _write(self) -> None:
        """As much as the other process takes now."""
        while self._is_open and self._waiting:
            data, file = self._waiting[0]
            try:
                sent = socket.send_fds(self._line, [data], [] if file is None else [file])
            except BlockingIOError:
                self._loop.add_writer(self._line, self._write)
                return
            except OSError:
                self._end()
                return
            if file is not None:
                os.close(file)
            self._waiting_bytes -= sent
            if sent == len(data):
                self._waiting.popleft()
            else:
                self._waiting[0] = data[sent:], None
        if self._is_open:
            self._loop.remove_writer(self._line)

    def _read(self) -> None:
        try:
            data, files, _, _ = socket.recv_fds(self._line, READ_BYTES, FILES_AT_ONCE)
        except BlockingIOError:
            return
        except OSError:
            data, files = b"", []
        self._files += files
        self._received += data
        while self._is_open and (content := self._next()) is not None:
            message = self._decode(content)
            file = self._files.popleft() if isinstance(message, WITH_FILE) else None
            self._receive(message, file)
        if not data:
            self._end()

    def _next(self) -> bytes | None:
        received = self._received
        if len(received) < _LENGTH.size:
            return None
        end = _LENGTH.size + _LENGTH.unpack_from(received)[0]
        if len(received) < end:
            return None
        content = bytes(received[_LENGTH.size : end])
        del received[:end]
        return content
