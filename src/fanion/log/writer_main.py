"""The program that writes the file of the embedded accept log beside a server.

It has an interpreter to itself: a thread of the server would wait for the server's at every
step of a commit. It ends when its socket does, after what it has read from it.
"""

import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from struct import Struct
from typing import BinaryIO, assert_never

import msgspec

from fanion.log.pack import Group
from fanion.log.port import Backlog, LogFull
from fanion.log.sqlite_file import LogFile

READ_BYTES = 1024 * 1024
LENGTH = Struct("<I")  # of the message that follows


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


def frame(message: Open | Asked | Answer) -> bytes:
    content = encode(message)
    return LENGTH.pack(len(content)) + content


def serve(channel: socket.socket) -> None:
    """Answer one message after another, in their order."""
    with channel, open(channel.fileno(), "rb", READ_BYTES, closefd=False) as incoming:
        first = _next(incoming)
        if first is None:
            return
        wanted = msgspec.msgpack.decode(first, type=Open)
        file = LogFile(
            Path(wanted.path), wanted.bytes_max, wanted.disk_free_bytes_min, wanted.after
        )
        channel.sendall(frame(_attempt(partial(_open, file))))
        decode = msgspec.msgpack.Decoder(Asked).decode
        try:
            while (content := _next(incoming)) is not None:
                channel.sendall(frame(_attempt(partial(_do, file, decode(content)))))
        except ConnectionError:
            pass  # the server has gone; what it had sent is written
        finally:
            file.close()


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


def _next(incoming: BinaryIO) -> bytes | None:
    """None at the end, also in the middle of a message."""
    head = incoming.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    [length] = LENGTH.unpack(head)
    content = incoming.read(length)
    return content if len(content) == length else None


if __name__ == "__main__":
    # The server that started it says when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])))
