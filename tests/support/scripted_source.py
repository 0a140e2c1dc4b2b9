"""A server with scripted answers, for failures that a real one rarely has."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from msgspec import json


@dataclass(frozen=True)
class ReceivedRequest:
    path: str
    query: dict[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class ScriptedAnswer:
    """A scripted answer.

    Attributes:
        body: JSON unless it is bytes; a script that returns None hangs up without an answer.
    """

    status: int = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[ReceivedRequest], ScriptedAnswer | None]


@dataclass
class ScriptedSource:
    """The server.

    Attributes:
        requests: Every request, in order.
    """

    url: str
    requests: list[ReceivedRequest]


@contextmanager
def scripted_server(script: Script) -> Iterator[ScriptedSource]:
    requests: list[ReceivedRequest] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet for head and body: a second one waits 40 ms for the first

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = ReceivedRequest(parts.path, dict(parse_qsl(parts.query)), headers, body)
            requests.append(request)
            answer = script(request)
            if answer is None:
                self.close_connection = True
                return
            body = answer.body if isinstance(answer.body, bytes) else json.encode(answer.body)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815  the name is the library's

        def log_message(self, *_: Any) -> None:
            """Log nothing, because tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield ScriptedSource(f"http://127.0.0.1:{server.server_port}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
