"""The site of an attacker on this machine.

It has an empty page at every address, whose script a test runs, and sets the cookie that the query
gives. Reached by the server's own host name, it is another origin of the same site, which the
browser sends cookies to and may set them for; by another name of the same machine it is another
site.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

_PAGE = b'<!doctype html><link rel="icon" href="data:,"><title>Prizes</title><p>You have won.</p>'


@dataclass(frozen=True)
class Neighbour:
    port: int

    @property
    def same_site(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def cross_site(self) -> str:
        return f"http://localhost:{self.port}/"


@contextmanager
def open_neighbour() -> Iterator[Neighbour]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield Neighbour(server.server_port)
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(_PAGE)))
        if cookie := urlsplit(self.path).query:
            self.send_header("Set-Cookie", unquote(cookie))
        self.end_headers()
        with suppress(ConnectionError):  # the browser has gone elsewhere
            self.wfile.write(_PAGE)

    def log_message(self, *_: object) -> None:
        """Log nothing, because the server's log tells what happened there."""
