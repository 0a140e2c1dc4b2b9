"""Another address of the stand-in, which plays a replica that fails.

All addresses have one engine behind them, as replicas have one Keeper: what one has stored the
others recognise.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from typing import Any, Final, Literal

# What happens to an insert of events; everything else is passed on.
Fault = Literal[
    "none",  # it is passed on
    "refused",  # an error before anything is stored: the table is read-only
    "cut",  # the connection ends before the whole insert has arrived
    "unanswered",  # it is stored, then the connection ends without an answer
    "error after storing",  # it is stored, and an error is answered
    "late",  # it is stored, and answered when `release` is called
]
ADDRESS: Final = "127.0.0.2"
_READ_ONLY: Final = (242, "TABLE_IS_READ_ONLY")
_UNKNOWN_STATUS: Final = (319, "UNKNOWN_STATUS_OF_INSERT")
_ANSWER_S: Final = 60
_STATEMENT_BYTES: Final = 100


class Replica:
    """A replica in front of the stand-in.

    Args:
        port: The port of the stand-in.

    Attributes:
        fault: What happens to inserts of events from now on.
        inserts: How many inserts of events have reached it.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.fault: Fault = "none"
        self.inserts = 0
        self.stored = threading.Event()
        self._released = threading.Event()
        self._connections: list[socket.socket] = []

    def next_fault(self) -> Fault:
        """Return what happens to an insert that has arrived."""
        return self.fault

    def connected(self, connection: socket.socket) -> None:
        self._connections.append(connection)

    def hang_up(self) -> None:
        """End all connections; clients keep theirs for longer than a test takes."""
        for connection in self._connections:
            end(connection)

    def release(self) -> None:
        """Answer what is late."""
        self._released.set()

    def withhold(self) -> None:
        """Let what is late from now on wait."""
        self._released.clear()
        self.stored.clear()

    def wait_until_released(self) -> None:
        self.stored.set()
        self._released.wait(_ANSWER_S)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    replica: Replica

    def setup(self) -> None:
        super().setup()
        self.replica.connected(self.connection)

    def do_GET(self) -> None:
        self._pass_on(b"")

    def do_POST(self) -> None:
        if not self._is_insert():
            self._pass_on(self._body())
            return
        self.replica.inserts += 1
        match self.replica.next_fault():
            case "cut":
                self.rfile.read(int(self.headers["Content-Length"]) // 2)
                self._hang_up()
            case "refused":
                self._body()
                self._refuse(*_READ_ONLY)
            case fault:
                self._insert(fault)

    def _insert(self, fault: Fault) -> None:
        answer = self._ask(self._body())
        if fault == "unanswered" or answer is None:
            self._hang_up()
        elif fault == "error after storing":
            self._refuse(*_UNKNOWN_STATUS)
        else:
            if fault == "late":
                self.replica.wait_until_released()
            self._answer(*answer)

    def _is_insert(self) -> bool:
        assert isinstance(self.rfile, BufferedReader)  # as the server makes it
        begin = self.rfile.peek(_STATEMENT_BYTES)[:_STATEMENT_BYTES]
        return begin.startswith(b"INSERT INTO") and b"events_local" in begin

    def _pass_on(self, body: bytes) -> None:
        answer = self._ask(body)
        if answer is None:
            self._hang_up()
        else:
            self._answer(*answer)

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes] | None:
        """Return the answer of the stand-in; None if it is killed."""
        kept = {name: value for name, value in self.headers.items() if name != "Host"}
        with closing(HTTPConnection("127.0.0.1", self.replica.port, timeout=_ANSWER_S)) as engine:
            try:
                engine.request(self.command, self.path, body, kept)
                answer = engine.getresponse()
                return answer.status, answer.getheaders(), answer.read()
            except (OSError, HTTPException):
                return None

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _refuse(self, code: int, name: str) -> None:
        text = f"Code: {code}. DB::Exception: it fails. ({name})\n".encode()
        headers = [("X-ClickHouse-Exception-Code", str(code)), ("Content-Length", str(len(text)))]
        self._answer(500, headers, text)

    def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
        with suppress(OSError):  # a client that waits no longer
            self.send_response_only(status)
            for name, value in headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()

    def _hang_up(self) -> None:
        self.close_connection = True
        end(self.connection)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def end(connection: socket.socket) -> None:
    with suppress(OSError):  # the client has ended it
        connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def failing_replica(port: int) -> Iterator[Replica]:
    """Run a replica at ADDRESS, on the port of the stand-in."""
    replica = Replica(port)
    with serving(replica, (ADDRESS, port)):
        yield replica


@contextmanager
def serving(replica: Replica, at: tuple[str, int]) -> Iterator[None]:
    """Listen for a replica."""
    handler = type("Handler", (_Handler,), {"replica": replica})
    with ThreadingHTTPServer(at, handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            replica.release()
            replica.hang_up()
            server.shutdown()
            thread.join()
