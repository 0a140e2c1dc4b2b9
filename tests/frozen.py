"""A process and its children, stopped in the middle of whatever they do."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def frozen(parent: int) -> Iterator[None]:
    """With each of its processes, which would go on by themselves."""
    stopped = processes(parent)
    _tell(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        _tell(stopped, signal.SIGCONT)


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


def _tell(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a session that was just ending
            os.kill(pid, number)
