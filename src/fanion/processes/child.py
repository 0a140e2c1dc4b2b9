"""A process that this one starts, starts again with backoff, and ends."""

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

# How long after one start the next may follow: at once the first time, then later each time that
# the process ends soon.
RESTART_S = 0.5
RESTART_S_MAX = 30.0
END_S_MAX = 8.0


class Child:
    """`python -m module`, with one end of a socket pair as its channel to this process.

    It ends when the channel does, also when this process is killed: it has to call
    `framing.socket_to_parent`, and to end at the end of that stream.

    arguments:   after the number of its socket
    descriptors: that it inherits
    end_s_max:   what it may take to end before it is killed
    now:         a monotonic clock in seconds
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str] = (),
        descriptors: Sequence[int] = (),
        end_s_max: float = END_S_MAX,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._module = module
        self._arguments = tuple(arguments)
        self._descriptors = tuple(descriptors)
        self._end_s_max = end_s_max
        self._now = now
        self._process: asyncio.subprocess.Process | None = None
        self._started_at = -inf
        self._backoff_s = 0.0

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.is_running else None

    @property
    def restart_in_s(self) -> float:
        """How long `start` still refuses; 0 when it does not."""
        return max(0.0, self._started_at + self._backoff_s - self._now())

    async def start(self) -> socket.socket:
        """This process's end of the channel.

        raises: OSError when it cannot be started, or has ended too often to be started now
        """
        if wait_s := self.restart_in_s:
            raise OSError(f"{self._module} has ended; it can be started again in {wait_s:.1f} s")
        return await self._start()

    async def start_when_due(self) -> socket.socket:
        """As `start`, but waits until it is not too soon. raises: OSError"""
        await asyncio.sleep(self.restart_in_s)
        return await self._start()

    async def wait(self) -> int:
        """The exit code, once it has ended."""
        assert self._process is not None
        return await self._process.wait()

    async def end(self) -> None:
        """Wait for its end, for which its channel must have been closed or said so; kill it when
        that takes too long."""
        if self._process is None:
            return
        try:
            await asyncio.wait_for(self._process.wait(), self._end_s_max)
        except TimeoutError:
            await self.kill()

    async def kill(self) -> None:
        self.send_kill()
        if self._process is not None:
            await self._process.wait()

    def send_kill(self) -> None:
        """As `kill`, without waiting for the end."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def _start(self) -> socket.socket:
        self._back_off()
        ours, theirs = socket.socketpair()
        descriptors = (theirs.fileno(), *self._descriptors)
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", self._module, str(theirs.fileno()), *self._arguments,
                    stdin=asyncio.subprocess.DEVNULL, pass_fds=descriptors,
                )  # fmt: skip
        except BaseException:
            ours.close()
            raise
        return ours

    def _back_off(self) -> None:
        has_lasted = self._now() - self._started_at > RESTART_S_MAX
        has_succeeded = self._process is not None and self._process.returncode == 0
        if has_lasted or has_succeeded:
            self._backoff_s = 0.0
        else:
            self._backoff_s = min(max(RESTART_S, self._backoff_s * 2), RESTART_S_MAX)
        self._started_at, self._process = self._now(), None
