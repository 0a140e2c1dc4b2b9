"""A process and its children, stopped at any moment."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.awaited import until


@contextmanager
def frozen(parent: int) -> Iterator[None]:
    """With each of its processes, which would go on by themselves.

    The parent first: one that still runs starts children after they were looked up."""
    _tell([parent], signal.SIGSTOP)
    try:
        until(lambda: _is_stopped(parent), "the process does not stop")
        stopped = processes(parent)
        _tell(stopped, signal.SIGSTOP)
        until(lambda: all(map(_is_stopped, stopped)), "its children do not stop")
        yield
    finally:
        _tell(processes(parent), signal.SIGCONT)


def processes(parent: int) -> list[int]:
    found = [parent]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue
        if f"PPid:\t{parent}" in lines:
            found.append(int(status.parent.name))
    return found


def _is_stopped(pid: int) -> bool:
    """Also what has ended, and what waits for its stopped parent to take note of that."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    return "State:\tT" in status or "State:\tZ" in status


def _tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session that was just ending
            os.kill(pid, number)
