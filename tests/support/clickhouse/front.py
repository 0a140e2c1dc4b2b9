"""The process of the stand-in: chDB behind ClickHouse's HTTP interface; README.md says how far.

Its arguments are the address of the engine for chDB, settings by database as JSON, and its port on
loopback, 0 for any, which it prints once it listens. It ends with SIGTERM, or when its standard
input ends, as it does with the process that started it.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

from tests.support.clickhouse.engine import Answer, Engine, Refused
from tests.support.clickhouse.message import COMPRESS, Message, read_message

# The statuses of a real server: for what does not exist, for a refused login, and for everything
# else.
_STATUSES = {60: 404, 81: 404, 46: 404, 516: 403, 497: 403, 62: 400, 115: 404}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    engine: Engine

    def do_GET(self) -> None:
        if self.path in ("/", "/ping"):
            self._answer(200, b"Ok.\n", {})
        else:
            self._query(b"")

    def do_POST(self) -> None:
        self._query(self._body())

    def _query(self, body: bytes) -> None:
        try:
            message = read_message(self.path, self.headers, body)  # type: ignore[arg-type]  # .get
            answer = self.engine.run(message)
        except Refused as refused:
            code = {"X-ClickHouse-Exception-Code": str(refused.code)}
            self._answer(_STATUSES.get(refused.code, 500), refused.text.encode() + b"\n", code)
        except ValueError as error:
            self._answer(400, f"Code: 1002. DB::Exception: {error}\n".encode(), {})
        else:
            self._answer(200, *_encoded(answer, message))

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _encoded(answer: Answer, message: Message) -> tuple[bytes, dict[str, str]]:
    data = answer.data
    headers = {
        "X-ClickHouse-Query-Id": message.query_id or str(uuid4()),
        "X-ClickHouse-Timezone": "UTC",
        "X-ClickHouse-Summary": json.dumps({"read_rows": str(answer.rows_read)}),
    }
    if answer.format:
        headers["X-ClickHouse-Format"] = answer.format
    if message.encoding and data:
        headers["Content-Encoding"] = message.encoding
        data = COMPRESS[message.encoding](data)
    return data, headers


def main() -> None:
    address, defaults, port = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
    Handler.engine = Engine(address, defaults)
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(server.server_port, flush=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.buffer.read()
    os._exit(0)  # does not wait for running statements


if __name__ == "__main__":
    main()
