"""A child process that is started, restarted with backoff, and ended."""

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from math import inf
from time import monotonic

# The least time from one start to the next: none before the first restart, then longer each time
# that the process ends soon.
RESTART_S = 0.5
RESTART_S_MAX = 30.0
END_S_MAX = 8.0


class Child:
    """A process `python -m module` with one end of a socket pair as its channel to this process.

    It ends when the channel does, even if this process is killed: it must call
    `channel.socket_to_parent`, and end at the end of that stream.

    Args:
        arguments: Follow the number of its socket.
        descriptors: Inherited by the process.
        end_s_max: The time it may take to end before it is killed.
        now: A monotonic clock in seconds.
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
        """The seconds for which `start` still refuses; 0 if it does not."""
        return max(0.0, self._started_at + self._backoff_s - self._now())

    async def start(self) -> socket.socket:
        """Start the process and return this process's end of the channel.

        Raises:
            OSError: It cannot be started, or has ended too often to be started now.
        """
        if wait_s := self.restart_in_s:
            raise OSError(f"{self._module} has ended; it can be started again in {wait_s:.1f} s")
        return await self._start()

    async def start_when_due(self) -> socket.socket:
        """Start the process like `start`, but wait until a restart is due.

        Raises:
            OSError: It cannot be started.
        """
        await asyncio.sleep(self.restart_in_s)
        return await self._start()

    async def wait(self) -> int:
        """Wait until the process has ended, and return its exit code."""
        assert self._process is not None
        return await self._process.wait()

    async def end(self) -> None:
        """Wait for the end of the process, and kill it if that takes too long.

        Its channel must have been closed before, or have carried the request to end.
        """
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
        """Kill the process without waiting for its end."""
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
