"""The metrics of a server's build and of its processes, which the system counts."""

import os
import platform
import resource
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fanion import __version__

_PROC: Final = Path("/proc")
_TICKS_PER_S: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
# The fields of /proc/[pid]/stat behind the name: proc_pid_stat(5), whose numbers begin 3 higher.
_CPU_TICKS: Final = slice(11, 15)  # user and system, of the process and of children that have ended
_STARTED_TICKS, _VIRTUAL_BYTES, _RESIDENT_PAGES = 19, 20, 21


@dataclass(frozen=True, slots=True)
class Usage:
    """The sums of what some processes use.

    Attributes:
        cpu_s: Includes children that have ended.
        resident_bytes: Memory that processes share is counted for each of them.
        open_files: Of the process that has most, since each has a limit of its own.
    """

    processes: int
    cpu_s: float
    resident_bytes: int
    virtual_bytes: int
    open_files: int


class ServerCollector(Collector):
    """The metrics of this process with its children, and of the build.

    Those of processes are missing where the system has no `/proc`.

    Args:
        commit: "" if it is not known.
    """

    def __init__(self, registry: CollectorRegistry, commit: str) -> None:
        self._commit = commit
        self._started_at = _started_at(os.getpid())
        self._usage: Usage | None = None
        registry.register(self)

    def measure(self) -> None:
        """Read what the processes use now; this takes a few milliseconds."""
        if self._started_at is not None:
            self._usage = read_usage(os.getpid())

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily(
            "fanion_build_info",
            "Always 1; `commit` is empty if it is not known",
            labels=["version", "commit", "python"],
        )
        build.add_metric([__version__, self._commit, platform.python_version()], 1)
        yield build
        usage = self._usage
        if self._started_at is None or usage is None:
            return
        yield CounterMetricFamily(
            "process_cpu_seconds", "Processor time of all processes of the server", usage.cpu_s
        )
        gauges = (
            (
                "fanion_processes",
                "Processes of the server: itself, web workers, the writer of the accept log, …",
                usage.processes,
            ),
            (
                "process_resident_memory_bytes",
                "Resident memory of all processes; memory that they share is counted for each",
                usage.resident_bytes,
            ),
            (
                "process_virtual_memory_bytes",
                "Virtual memory of all processes",
                usage.virtual_bytes,
            ),
            (
                "process_open_fds",
                "Open file descriptors of the process that has most",
                usage.open_files,
            ),
            (
                "process_max_fds",
                "Most file descriptors that one process may have open",
                resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            ),
            (
                "process_start_time_seconds",
                "When the server was started, in seconds since 1970",
                self._started_at,
            ),
        )
        for name, description, value in gauges:
            yield GaugeMetricFamily(name, description, value)


def read_usage(pid: int) -> Usage:
    """Return what a process and its descendants use."""
    processes = resident = virtual = files = 0
    cpu_s = 0.0
    for member in _family_of(pid):
        with suppress(OSError):  # it has ended
            stat = _stat(member)
            files = max(files, sum(1 for _ in (_PROC / str(member) / "fd").iterdir()))
            processes += 1
            cpu_s += sum(map(int, stat[_CPU_TICKS])) / _TICKS_PER_S
            virtual += int(stat[_VIRTUAL_BYTES])
            resident += int(stat[_RESIDENT_PAGES]) * _PAGE_BYTES
    return Usage(processes, cpu_s, resident, virtual, files)


def _family_of(pid: int) -> list[int]:
    """Return a process and its descendants; the main thread starts them."""
    family = [pid]
    for member in family:
        with suppress(OSError):
            children = _PROC / str(member) / "task" / str(member) / "children"
            family += map(int, children.read_text().split())
    return family


def _stat(pid: int) -> list[str]:
    """Return the fields behind the name, which may contain spaces and parentheses."""
    return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()


def _started_at(pid: int) -> float | None:
    """Return when a process was started, in seconds since 1970; None without `/proc`."""
    try:
        started_s = int(_stat(pid)[_STARTED_TICKS]) / _TICKS_PER_S
        lines = (_PROC / "stat").read_text().splitlines()
    except OSError:
        return None
    [booted_at] = [line.split()[1] for line in lines if line.startswith("btime ")]
    return int(booted_at) + started_s
