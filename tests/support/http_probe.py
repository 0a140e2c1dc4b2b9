"""Raw bytes to a server, and its answers read strictly."""

import select
import socket
from dataclasses import dataclass, field

WAIT_S = 60.0


@dataclass(frozen=True)
class Answer:
    """An answer as it was received.

    Attributes:
        headers: Names in lower case; of repeated headers the last.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    version: bytes = b"HTTP/1.1"


@dataclass
class Probe:
    """One connection to a server.

    Attributes:
        is_closed: Whether the server has ended it, as far as was read.
        source: The loopback address that it comes from.
    """

    port: int
    is_closed: bool = False
    source: str = ""
    _received: bytes = b""
    _socket: socket.socket = field(init=False)

    def __post_init__(self) -> None:
        source = (self.source, 0) if self.source else None
        self._socket = socket.create_connection(("127.0.0.1", self.port), WAIT_S, source)

    def __enter__(self) -> "Probe":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def end(self) -> None:
        """End the sending side; answers are still read."""
        self._socket.shutdown(socket.SHUT_WR)

    def answer(self, method: str = "GET") -> Answer | None:
        """Return the next answer, or None if the connection ends before it."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        lines = head.decode("latin-1").split("\r\n")
        version, status, *_ = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(": ")
            assert colon and name == name.strip(), line
            headers[name.lower()] = value
        body = self._body(method, int(status), headers)
        return None if body is None else Answer(int(status), headers, body, version.encode())

    def is_answered(self) -> bool:
        """Return whether the server has sent unread bytes, or has closed the connection."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(0))

    def is_ended(self) -> bool:
        """Return whether the server closes the connection without saying more."""
        try:
            while not self.is_closed:
                self._read()
        except TimeoutError:
            return False
        return self._received == b""

    def _body(self, method: str, status: int, headers: dict[str, str]) -> bytes | None:
        if method == "HEAD" or status < 200 or status in (204, 304):
            return b""
        if headers.get("transfer-encoding") == "chunked":
            return self._chunks()
        return self._exactly(int(headers["content-length"]))

    def _chunks(self) -> bytes | None:
        whole = b""
        while (line := self._until(b"\r\n")) is not None:
            data = self._exactly(int(line, 16) + 2)
            if data is None or len(data) == 2:
                return None if data is None else whole
            whole += data[:-2]
        return None

    def _until(self, end: bytes) -> bytes | None:
        while end not in self._received:
            if self.is_closed:
                return None
            self._read()
        data, _, self._received = self._received.partition(end)
        return data

    def _exactly(self, size: int) -> bytes | None:
        while len(self._received) < size:
            if self.is_closed:
                return None
            self._read()
        data, self._received = self._received[:size], self._received[size:]
        return data

    def _read(self) -> None:
        try:
            data = self._socket.recv(65536)
        except ConnectionResetError:
            data = b""
        self.is_closed = not data
        self._received += data
