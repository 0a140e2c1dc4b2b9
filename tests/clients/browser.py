"""A page in a headless Chromium, served from another origin than the API it talks to."""

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from tests.clients.management import Json

REPORT_S = 120
_PAGE = b"""<!doctype html><title>Journey</title>
<script src="/posthog.js"></script><script type="module" src="/page.mjs"></script>"""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # Messages of the page's console are printed when it fails.
    "--enable-logging=stderr",
)


def find_chromium() -> str | None:
    """Return the path of a Chromium, if possible without a window.

    The one without its own window takes a third less of the processor.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@dataclass
class Visit:
    """A visit of a page, which runs a script and reports.

    Attributes:
        script: The module that the page runs, after the classic script `bundle`.
        asked: The answer to the page for /journey.
        arrived: Returns when so many events of a name are stored.
        folder: For the browser's profile and log.
    """

    script: Path
    bundle: Path
    asked: Json
    arrived: Callable[[str, int], object]
    folder: Path
    report: Json = field(default_factory=dict)
    reported: threading.Event = field(default_factory=threading.Event)


def visit(page_visit: Visit) -> Json:
    """Open the page and return what it reports."""
    with _served(page_visit) as address, _browser(address, page_visit.folder):
        assert page_visit.reported.wait(REPORT_S), _console(page_visit.folder)
    return page_visit.report


@contextmanager
def _served(page_visit: Visit) -> Iterator[str]:
    """Serve the page at `localhost`, which is another site than the address of the API."""
    with _PageServer(page_visit) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def _browser(address: str, folder: Path) -> Iterator[None]:
    chromium = find_chromium()
    assert chromium is not None
    folder.mkdir(parents=True)
    command = [chromium, *FLAGS, f"--user-data-dir={folder / 'profile'}", address]
    with (folder / "browser.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        yield
    finally:
        # A group of its own: the processes that the browser started end with it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _console(folder: Path) -> str:
    lines = (folder / "browser.log").read_text(errors="replace").splitlines()
    report_found = "\n".join(line for line in lines if "CONSOLE" in line)
    return f"the page reported nothing in {REPORT_S} s:\n{report_found}"


class _PageServer(ThreadingHTTPServer):
    def __init__(self, page_visit: Visit) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page_visit = page_visit


class _Handler(BaseHTTPRequestHandler):
    @property
    def page_visit(self) -> Visit:
        assert isinstance(self.server, _PageServer)
        return self.server.page_visit

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        match url.path:
            case "/":
                self._answer("text/html", _PAGE)
            case "/posthog.js":
                self._answer("text/javascript", self.page_visit.bundle.read_bytes())
            case "/page.mjs":
                self._answer("text/javascript", self.page_visit.script.read_bytes())
            case "/journey":
                self._answer("application/json", json.dumps(self.page_visit.asked).encode())
            case "/arrived":
                query = dict(parse_qsl(url.query))
                self.page_visit.arrived(query["event"], int(query["count"]))
                self._answer("text/plain", b"")
            case _:
                self.send_error(404)

    def do_POST(self) -> None:
        """Receive the page's report."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer("text/plain", b"")
        self.page_visit.report |= json.loads(body)
        self.page_visit.reported.set()

    def _answer(self, content_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing, because the report holds the results of the page."""
