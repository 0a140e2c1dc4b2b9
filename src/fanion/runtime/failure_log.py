"""The log of a failure that lasts: the first time at once, then counted."""

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic
from typing import Any, Final, Literal

import structlog

# Seconds after the first failure at which the count so far is logged; then every hour.
SUMMARIES_S: Final = (60.0, 300.0, 900.0, 3_600.0)
# A failure that alternates with success is logged no more often than this.
AGAIN_S: Final = 10.0


class FailureLog:
    """The log of failures of one kind, such as those of a loop whose store cannot be reached.

    The line of the first failure carries its reason; `failure_ended` says how many there were.

    Args:
        quiet_s: The time after the last failure at which it counts as ended, if nothing calls
            `succeeded`.
    """

    def __init__(
        self,
        event: str,
        *,
        level: Literal["warning", "error"] = "warning",
        quiet_s: float | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        """Log failures under one name.

        Args:
            event: The name of the lines.
            clock: The running loop's clock by default.
        """
        self._event = event
        self._level = level
        self._quiet_s = quiet_s
        self._clock = clock or _now
        self._failures = 0
        self._first = self._last = 0.0
        self._log_at = -inf  # the earliest time of the next line
        self._is_logged = False

    def failed(self, reason: str, **fields: Any) -> None:
        """Record a failure.

        Args:
            fields: Of the line, besides the reason.
        """
        now = self._clock()
        self._last = now
        if not self._failures:
            self._first = now
            self._watch()
        self._failures += 1
        if now >= self._log_at:
            counted = {} if self._failures == 1 else self._counted()
            self._write(self._event, reason=reason, **fields, **counted)
            self._is_logged, self._log_at = True, self._next_summary(now)

    def succeeded(self) -> None:
        """Record that the failures have ended, if there were any."""
        if not self._failures:
            return
        if self._is_logged:
            self._write("failure_ended", failure=self._event, **self._counted())
            self._log_at = self._clock() + AGAIN_S
        self._failures, self._is_logged = 0, False

    def _write(self, event: str, **fields: Any) -> None:
        getattr(structlog.get_logger(), self._level)(event, **fields)

    def _counted(self) -> dict[str, Any]:
        return {"failures": self._failures, "seconds": round(self._clock() - self._first, 1)}

    def _next_summary(self, now: float) -> float:
        since = now - self._first
        return next((self._first + s for s in SUMMARIES_S if s > since), now + SUMMARIES_S[-1])

    def _watch(self) -> None:
        if self._quiet_s is not None:
            asyncio.get_running_loop().call_later(self._quiet_s, self._look)

    def _look(self) -> None:
        quiet_s = self._quiet_s or 0.0
        if self._failures and self._clock() - self._last < quiet_s:
            self._watch()
        else:
            self.succeeded()


def _now() -> float:
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:  # called in a thread
        return monotonic()
