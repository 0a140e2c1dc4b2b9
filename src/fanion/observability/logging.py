"""Structured log lines: one JSON object a line on standard error, written off the event loop.

Each has `level`, `event` and `timestamp`, whichever process and library it comes from.
"""

import logging
import sys
import threading
from collections import deque
from datetime import UTC, datetime
from typing import Any, BinaryIO, Protocol

import msgspec
import structlog

# Lines that wait for a slow terminal or pipe; past this the newest are dropped and counted.
WAITING_LINES_MAX = 50_000
FLUSH_S = 0.1

_encoder = msgspec.json.Encoder(enc_hook=str)


def log_time(now: datetime | None = None) -> datetime:
    """When a line is written: encoded as `2026-05-06T07:08:09.123456Z`, always with six digits, so
    that lines sort by it as text. now: in UTC"""
    now = now or datetime.now(UTC)
    # The encoder leaves a fraction of zero out.
    return now if now.microsecond else now.replace(microsecond=1)


class Lines(Protocol):
    def msg(self, line: object) -> None: ...


class LineWriter:
    """Takes lines at memory speed and writes them in batches from a thread of its own, so
    that a slow reader of the log never holds up a request."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._encode_lines = _encoder.encode_lines
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
        if not self._lines and not self._dropped:
            return
        lines = [self._lines.popleft() for _ in range(len(self._lines))]
        if self._dropped:
            dropped = {"level": "warning", "event": "log_lines_dropped", "lines": self._dropped}
            lines.append({**dropped, "timestamp": log_time()})
            self._dropped = 0
        try:
            self._stream.write(self._encode_lines(lines))
            self._stream.flush()
        except (OSError, ValueError):
            # The reader of the log is gone; serving goes on.
            return


class StderrLines:
    """Of a command, which has no loop to keep free. Standard output is for what it prints."""

    def msg(self, line: object) -> None:
        sys.stderr.write(_encoder.encode(line).decode() + "\n")

    debug = info = warning = error = critical = exception = msg


class LibraryLines(logging.Handler):
    """Messages that libraries log through `logging`, such as asyncio's of unretrieved errors."""

    def __init__(self, lines: Lines) -> None:
        super().__init__(logging.WARNING)
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.msg(_line_of(record))
        except Exception:  # as in every handler: a message that is broken breaks nothing else
            self.handleError(record)


def _line_of(record: logging.LogRecord) -> dict[str, object]:
    line: dict[str, object] = {
        "level": record.levelname.lower(),
        "event": "library_message",
        "timestamp": log_time(datetime.fromtimestamp(record.created, UTC)),
        "logger": record.name,
        "message": record.getMessage(),
    }
    if record.exc_info:
        line["exception"] = logging.Formatter().formatException(record.exc_info)
    return line


def open_logs(level: str, stream: BinaryIO | None = None) -> LineWriter:
    """Point structlog and `logging` at a new writer; close it last."""
    writer = LineWriter(stream or sys.stderr.buffer)
    _configure(level, writer)
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, LibraryLines)]:
        root.removeHandler(handler)
    root.addHandler(LibraryLines(writer))
    return writer


def open_command_logs() -> None:
    """Point structlog at standard error."""
    _configure("info", StderrLines())


def _configure(level: str, lines: Lines) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            _add_time,
            structlog.processors.format_exc_info,
            lambda _, __, event: ((event,), {}),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=False,
    )


def _add_time(_: Any, __: str, event: Any) -> Any:
    event["timestamp"] = log_time()
    return event
