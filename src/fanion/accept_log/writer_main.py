"""The writer process of the embedded accept log: the only one that writes its file.

It has its own interpreter, because a thread of the server would wait for the server's GIL
at every step of a commit. It ends when the channel to the server does, after the requests read
from it. The server's web workers have their own channels, which the server hands in.
"""

import selectors
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import assert_never

import msgspec

from fanion.accept_log.port import Backlog, LogFull
from fanion.accept_log.sqlite_file import LogFileWriter, LogGroup
from fanion.errors import StartRefused
from fanion.processes.channel import BlockingChannel, socket_to_parent


class Open(msgspec.Struct, tag=True, array_like=True):
    """The server's first message. The fields are those of `LogFileWriter`."""

    path: str
    bytes_max: int
    disk_free_bytes_min: int
    after: int
    installation: str
    counts_decoded: bool


class AddChannel(msgspec.Struct, tag=True, array_like=True):
    """A message that carries the socket of another appending process. It has no answer."""


class Write(msgspec.Struct, tag=True, array_like=True):
    group: LogGroup
    historical: bool


class Trim(msgspec.Struct, tag=True, array_like=True):
    upto: int
    historical: bool


class GetBacklog(msgspec.Struct, tag=True, array_like=True):
    after: int
    historical: bool


class Watch(msgspec.Struct, tag=True, array_like=True):
    """A request to be told of the next write to a lane over another channel.

    It is answered at once; the message `Appended` follows later, once.
    """

    historical: bool


class WriteDone(msgspec.Struct, tag=True, array_like=True):
    """The answer to a write or a trim.

    Attributes:
        value: The last id written; for a trim, 1 if more may be trimmed.
    """

    value: int


class BacklogIs(msgspec.Struct, tag=True, array_like=True):
    backlog: Backlog


class Failed(msgspec.Struct, tag=True, array_like=True):
    """The answer to a request that failed.

    Attributes:
        kind: "full" for LogFull, "store" for OSError, "refused" for StartRefused, "other" for an
            unexpected error.
    """

    kind: str
    reason: str


class Appended(msgspec.Struct, tag=True, array_like=True):
    """A message that a watched lane has an entry with this id. It answers no request."""

    last: int
    historical: bool


Request = Write | Trim | GetBacklog | Watch
Answer = WriteDone | BacklogIs | Failed

_encode = msgspec.msgpack.Encoder().encode
_decode: Callable[[bytes], Request | AddChannel] = msgspec.msgpack.Decoder(
    Request | AddChannel
).decode


def serve(server: BlockingChannel) -> None:
    """Answer requests until the server closes its channel, for each channel in order."""
    with server:
        first = server.receive()
        if first is None:
            return
        settings = msgspec.msgpack.decode(first.content, type=Open)
        file = LogFileWriter(
            Path(settings.path),
            settings.bytes_max,
            settings.disk_free_bytes_min,
            settings.after,
            settings.installation,
            counts_decoded=settings.counts_decoded,
        )
        try:
            server.send(_encode(_answer(partial(_open, file))))
            with selectors.DefaultSelector() as selector:
                selector.register(server, selectors.EVENT_READ, server)
                channels = _Channels(server, selector, file)
                while channels.serve_ready():
                    pass
        finally:
            file.close()


class _Channels:
    """The channels of the processes that append."""

    def __init__(
        self, server: BlockingChannel, selector: selectors.BaseSelector, file: LogFileWriter
    ) -> None:
        self._server = server
        self._selector = selector
        self._file = file
        self._watched: set[bool] = set()  # the lanes that the server watches

    def serve_ready(self) -> bool:
        """Wait for requests and answer them; return False when the server's channel has ended."""
        for key, _ in self._selector.select():
            channel: BlockingChannel = key.data
            if not self._answer_all(channel):
                if channel is self._server:
                    return False
                self._selector.unregister(channel)
                channel.close()
        return True

    def _answer_all(self, channel: BlockingChannel) -> bool:
        """Answer the requests that have arrived on a channel; return False when it has ended."""
        try:
            for content, descriptor in channel.read():
                request = _decode(content)
                if isinstance(request, AddChannel):
                    other = BlockingChannel(socket.socket(fileno=descriptor))
                    self._selector.register(other, selectors.EVENT_READ, other)
                else:
                    self._answer_request(channel, request)
        except ConnectionError:
            return False  # requests that were answered are written
        return not channel.is_ended

    def _answer_request(self, channel: BlockingChannel, request: Request) -> None:
        if isinstance(request, Watch):
            self._watched.add(request.historical)
            channel.send(_encode(WriteDone(0)))
            return
        answer = _answer(partial(_execute, self._file, request))
        try:
            channel.send(_encode(answer))
        finally:
            if isinstance(request, Write) and isinstance(answer, WriteDone):
                self._tell_server(channel, Appended(answer.value, request.historical))

    def _tell_server(self, writer: BlockingChannel, appended: Appended) -> None:
        if writer is not self._server and appended.historical in self._watched:
            self._watched.remove(appended.historical)
            with suppress(ConnectionError):  # the end of the server's channel is noticed when read
                self._server.send(_encode(appended))


def _open(file: LogFileWriter) -> Answer:
    file.open()
    return WriteDone(0)


def _execute(file: LogFileWriter, request: Write | Trim | GetBacklog) -> Answer:
    match request:
        case Write(group, historical):
            return WriteDone(file.write(group, historical=historical))
        case Trim(upto, historical):
            return WriteDone(int(file.trim_some(upto, historical=historical)))
        case GetBacklog(after, historical):
            return BacklogIs(file.backlog(after, historical=historical))
        case _:
            assert_never(request)


def _answer(work: Callable[[], Answer]) -> Answer:
    try:
        return work()
    except LogFull as error:
        return Failed("full", str(error))
    except OSError as error:
        return Failed("store", str(error))
    except StartRefused as error:
        return Failed("refused", str(error))
    except Exception as error:
        return Failed("other", f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    serve(BlockingChannel(socket_to_parent()))
