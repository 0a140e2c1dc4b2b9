"""A process that is stopped at some moment, with its children."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.awaited import until


@contextmanager
def suspended_process(parent: int) -> Iterator[None]:
    """Stop the process and its children, which would go on by themselves, until the block ends.

    The parent is stopped first: a running one could start children after they were looked up.
    """
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
    pids = [parent]
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = status.read_text().splitlines()
        except OSError:
            continue
        if f"PPid:\t{parent}" in lines:
            pids.append(int(status.parent.name))
    return pids


def _is_stopped(pid: int) -> bool:
    """Return whether the process is stopped or has ended, even if its parent has not noted it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
    return "State:\tT" in status or "State:\tZ" in status


def _tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session may just have ended
            os.kill(pid, number)
