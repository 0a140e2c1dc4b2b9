"""The program that writes the file of the embedded accept log beside a server.

It has an interpreter to itself: a thread of the server would wait for the server's at every
step of a commit. It ends when the server's socket does, after what it has read from it. The
server's fronts have sockets of their own.
"""

import os
import selectors
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from struct import Struct
from typing import assert_never

import msgspec

from fanion.accept_log.codec import Group
from fanion.accept_log.port import Backlog, LogFull
from fanion.accept_log.sqlite_file import LogFile

READ_BYTES = 64 * 1024  # larger buffers come from the kernel, and go back to it, at each read
LENGTH = Struct("<I")  # of the message that follows
LINES_AT_ONCE = 16


class Open(msgspec.Struct, tag=True, array_like=True):
    """The first message. The fields are those of `LogFile`."""

    path: str
    bytes_max: int
    disk_free_bytes_min: int
    after: int


class Write(msgspec.Struct, tag=True, array_like=True):
    group: Group
    historical: bool


class Trim(msgspec.Struct, tag=True, array_like=True):
    upto: int
    historical: bool


class Count(msgspec.Struct, tag=True, array_like=True):
    after: int
    historical: bool


class Done(msgspec.Struct, tag=True, array_like=True):
    """value: the last id written; 1 when more may be trimmed"""

    value: int


class Counted(msgspec.Struct, tag=True, array_like=True):
    backlog: Backlog


class Failed(msgspec.Struct, tag=True, array_like=True):
    """kind: "full" for LogFull, "store" for OSError, "other" for an error nobody foresaw"""

    kind: str
    reason: str


Asked = Write | Trim | Count
Answer = Done | Counted | Failed

encode: Callable[[object], bytes] = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Asked).decode


def frame(message: Open | Asked | Answer) -> bytes:
    content = encode(message)
    return LENGTH.pack(len(content)) + content


class _Line:
    """One who asks: the server, or one of its fronts."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._received = bytearray()

    def receive(self) -> bool:
        """Wait for some; False at the end."""
        data = self.channel.recv(READ_BYTES)
        self._received += data
        return bool(data)

    def messages(self) -> Iterator[bytes]:
        """Those that are whole."""
        while len(self._received) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._received)[0]
            if len(self._received) < end:
                return
            content = bytes(self._received[LENGTH.size : end])
            del self._received[:end]
            yield content


def serve(channel: socket.socket, door: socket.socket) -> None:
    """Answer one message after another, of each line in their order.

    door: where further lines come in
    """
    with channel, door:
        server = _Line(channel)
        file = _opened(server)
        if file is None:
            return
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(channel, selectors.EVENT_READ, server)
                selector.register(door, selectors.EVENT_READ)
                while _serve_ready(selector, server, file):
                    pass
        finally:
            file.close()


def _opened(server: _Line) -> LogFile | None:
    """As the first message wants it; None when there is none."""
    while not (first := next(server.messages(), None)):
        if not server.receive():
            return None
    wanted = msgspec.msgpack.decode(first, type=Open)
    file = LogFile(Path(wanted.path), wanted.bytes_max, wanted.disk_free_bytes_min, wanted.after)
    server.channel.sendall(frame(_attempt(partial(_open, file))))
    return file


def _serve_ready(selector: selectors.BaseSelector, server: _Line, file: LogFile) -> bool:
    """Whoever asks now; False when the server has gone."""
    for key, _ in selector.select():
        line: _Line | None = key.data
        if line is None:
            _let_in(selector, key.fd)
        elif not _answer_some(line, file):
            if line is server:
                return False
            selector.unregister(line.channel)
            line.channel.close()
    return True


def _let_in(selector: selectors.BaseSelector, door: int) -> None:
    with socket.socket(fileno=os.dup(door)) as waiting:
        data, fds, _, _ = socket.recv_fds(waiting, READ_BYTES, LINES_AT_ONCE)
    for fd in fds:
        line = _Line(socket.socket(fileno=fd))
        selector.register(line.channel, selectors.EVENT_READ, line)
    if not data:
        selector.unregister(door)  # the server has gone, as its own line says too


def _answer_some(line: _Line, file: LogFile) -> bool:
    """False when the line has ended."""
    try:
        goes_on = line.receive()
        for content in line.messages():
            line.channel.sendall(frame(_attempt(partial(_do, file, _decode(content)))))
    except ConnectionError:
        return False  # what it had sent is written
    return goes_on


def _open(file: LogFile) -> Answer:
    file.open()
    return Done(0)


def _do(file: LogFile, asked: Asked) -> Answer:
    match asked:
        case Write(group, historical):
            return Done(file.write(group, historical=historical))
        case Trim(upto, historical):
            return Done(int(file.trim_some(upto, historical=historical)))
        case Count(after, historical):
            return Counted(file.backlog(after, historical=historical))
        case _:
            assert_never(asked)


def _attempt(work: Callable[[], Answer]) -> Answer:
    try:
        return work()
    except LogFull as error:
        return Failed("full", str(error))
    except OSError as error:
        return Failed("store", str(error))
    except Exception as error:
        return Failed("other", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    # The server that started it says when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])), socket.socket(fileno=int(sys.argv[2])))
