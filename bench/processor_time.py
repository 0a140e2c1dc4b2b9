"""The processor time of processes and of their descendants, including those that have ended.

The time of PostgreSQL is therefore that of its first process.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.awaited import until

IDLE_S = 10.0
SETTLED = 0.5  # cores, during a second: the work after a start, or left behind, is done
SETTLE_S_MAX = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")

# Process ids, by the name of their role.
Roles = Mapping[str, Collection[int]]


@dataclass(frozen=True)
class Spent:
    """The seconds of processor time beyond idling, and the idle use in cores, by role."""

    seconds: Mapping[str, float]
    idle: Mapping[str, float]


def spent(roles: Roles, work: Callable[[], None]) -> Spent:
    """Return what the work takes, without what its processes take while idle for as long.

    The idle use is measured after the work: loops that look for something to do cost by time, not
    by events.
    """
    _settle(roles)
    busy, busy_s = _during(roles, work)
    idle = idle_cores(roles)
    return Spent({role: busy[role] - idle[role] * busy_s for role in roles}, idle)


def idle_cores(
    roles: Roles, seconds: float = IDLE_S, settled: float = SETTLED
) -> Mapping[str, float]:
    """Return how many cores each role uses while idle, once earlier work has settled.

    Args:
        settled: The load, in cores over all roles, below which it counts as settled.
    """
    _settle(roles, settled)
    rested, rested_s = _during(roles, lambda: time.sleep(seconds))
    return {role: used / rested_s for role, used in rested.items()}


def used_s(roots: Collection[int]) -> float:
    """Return the processor time of the processes since they were started."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for pid, parent, used in _processes():
        ticks[pid] = used
        children.setdefault(parent, []).append(pid)
    ticks_used, waiting = 0, list(roots)
    while waiting:
        pid = waiting.pop()
        ticks_used += ticks[pid]
        waiting += children.get(pid, [])
    return ticks_used / _TICKS


def _settle(roles: Roles, settled: float = SETTLED) -> None:
    def is_settled() -> bool:
        used, seconds = _during(roles, lambda: time.sleep(1.0))
        return sum(used.values()) < settled * seconds

    until(is_settled, "still at work", SETTLE_S_MAX)


def _during(roles: Roles, work: Callable[[], None]) -> tuple[dict[str, float], float]:
    before, began = _by_role(roles), time.monotonic()
    work()
    seconds, after = time.monotonic() - began, _by_role(roles)
    return {role: after[role] - before[role] for role in roles}, seconds


def _by_role(roles: Roles) -> dict[str, float]:
    return {role: used_s(pids) for role, pids in roles.items()}


def _processes() -> Iterator[tuple[int, int, int]]:
    """Yield pid, parent and ticks of each process, including those of its ended children."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            yield int(stat.parent.name), int(fields[1]), sum(map(int, fields[11:15]))
