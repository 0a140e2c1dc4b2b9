"""The log of telemetry that could not be sent."""

import logging
from time import monotonic
from typing import Final

from fanion.runtime.failure_log import FailureLog

LIBRARY: Final = "opentelemetry.exporter.otlp.proto.http"


class ExportFailures(logging.Handler):
    """Turns the messages of the library's exporter, one for each attempt, into a line and counts.

    Args:
        what: `trace` or `metric`.
    """

    def __init__(self, what: str) -> None:
        super().__init__(logging.WARNING)
        self._what = f"{what}s"
        self._failures = FailureLog("telemetry_not_sent", clock=monotonic)
        self._reason = ""
        library = logging.getLogger(f"{LIBRARY}.{what}_exporter")
        library.propagate = False
        library.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        # The first message has the reason, the last one that no more attempts are made.
        self._reason = self._reason or record.getMessage().splitlines()[0]

    def ended(self, *, is_sent: bool) -> None:
        """Record the end of an attempt."""
        if is_sent:
            self._failures.succeeded()
        else:
            self._failures.failed(self._reason or "the receiver refused it", what=self._what)
        self._reason = ""
