"""The end of a server: a drain, if the settings ask for one, and then the stop."""

import asyncio
import signal

import structlog


class Shutdown:
    """The signals that end this process, and what they have begun.

    SIGTERM begins the drain: the server answers as before, and its readiness makes load balancers
    leave it out. It stops when the drain ends. SIGINT, and a second SIGTERM, stop it at once.

    Attributes:
        draining: Set when the drain begins; never set without a drain.
        stop: Set when the server has to stop.
    """

    def __init__(self, drain_s: float) -> None:
        self._drain_s = drain_s
        self._loop = asyncio.get_running_loop()
        self.draining = asyncio.Event()
        self.stop = asyncio.Event()

    def handle_signals(self) -> None:
        self._loop.add_signal_handler(signal.SIGTERM, self.terminate)
        self._loop.add_signal_handler(signal.SIGINT, self.stop.set)

    def terminate(self) -> None:
        if not self._drain_s or self.draining.is_set():
            self.stop.set()
            return
        structlog.get_logger().info("draining", seconds=self._drain_s)
        self.draining.set()
        self._loop.call_later(self._drain_s, self.stop.set)
