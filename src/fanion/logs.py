"""Structured log lines: one JSON object a line on standard error, written off the event loop."""

import sys
import threading
from collections import deque
from typing import BinaryIO

import msgspec
import structlog

# Lines that wait for a slow terminal or pipe; past this the newest are dropped and counted.
WAITING_LINES_MAX = 50_000
FLUSH_S = 0.1


class LineWriter:
    """Takes lines at memory speed and writes them in batches from a thread of its own, so
    that a slow reader of the log never holds up a request."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._encode_lines = msgspec.json.Encoder(enc_hook=str).encode_lines
        self._lines: deque[object] = deque()
        self._dropped = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log-lines", daemon=True)
        self._thread.start()

    def msg(self, line: object) -> None:
        """line: a dict or a Struct, written as one JSON object"""
        if len(self._lines) >= WAITING_LINES_MAX:
            self._dropped += 1
            return
        self._lines.append(line)

    debug = info = warning = error = critical = exception = msg

    def close(self) -> None:
        self._stop.set()
        self._thread.join(timeout=2)

    def _run(self) -> None:
        while not self._stop.wait(FLUSH_S):
            self._write()
        self._write()

    def _write(self) -> None:
        if not self._lines:
            return
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if self._dropped:
            lines.append({"event": "log_lines_dropped", "lines": self._dropped})
            self._dropped = 0
        try:
            self._stream.write(self._encode_lines(lines))
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads the log any more; serving goes on.
            return


def open_logs(level: str, stream: BinaryIO | None = None) -> LineWriter:
    """Point structlog at a new writer; close it last."""
    writer = LineWriter(stream or sys.stderr.buffer)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            lambda _, __, event: ((event,), {}),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: writer,
        cache_logger_on_first_use=False,
    )
    return writer
