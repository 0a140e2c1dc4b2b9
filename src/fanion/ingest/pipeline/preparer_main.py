"""The program that prepares runs beside a server which catches up.

It has an interpreter to itself: of all that is done with an event more than half needs nothing
but the event. It ends when the server's socket does, or when it was not asked for a while: its
memory is that of the largest run.
"""

import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from struct import Struct

from fanion.ingest.pipeline.preparer_codec import answer
from fanion.ingest.pipeline.types import GeoIp
from fanion.runtime.geoip import open_geoip
from fanion.runtime.interpreter import collect_garbage

IDLE_S = 10.0
LENGTH = Struct("<I")  # of the message that follows


def send(line: socket.socket, message: bytes) -> None:
    """raises: OSError"""
    line.sendall(LENGTH.pack(len(message)))
    line.sendall(message)


def receive(line: socket.socket) -> bytearray | None:
    """None at the end. raises: OSError"""
    length = _receive_exactly(line, LENGTH.size)
    return None if length is None else _receive_exactly(line, LENGTH.unpack(length)[0])


def _receive_exactly(line: socket.socket, size: int) -> bytearray | None:
    received = bytearray(size)
    with memoryview(received) as rest:
        at = 0
        while at < size:
            count = line.recv_into(rest[at:])
            if count == 0:
                return None
            at += count
    return received


def serve(line: socket.socket, geoip: GeoIp | None) -> None:
    """Say that it is ready, with an empty message; then answer one question after another, with
    an empty message those that the server has to prepare itself."""
    send(line, b"")
    line.settimeout(IDLE_S)
    while (asked := receive(line)) is not None:
        try:
            answered = answer(asked, geoip)
        except Exception:  # the server finds out which of its envelopes it is
            answered = b""
        send(line, answered)


if __name__ == "__main__":
    # The server that started it says when to end.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    collect_garbage()
    places = open_geoip(Path(sys.argv[2])) if sys.argv[2] else None
    with suppress(OSError):  # the server has gone, or did not ask for long
        serve(socket.socket(fileno=int(sys.argv[1])), places)
