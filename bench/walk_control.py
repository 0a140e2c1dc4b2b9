"""The controller of traced processes: it starts and stops recording, and counts the entries."""

import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench import walk_tracer
from bench.walk_tracer import Entry

ANSWER_S = 10.0
LOOK_S = 0.05
SETTLED_S_MAX = 20.0

# The caller, and the function that was entered.
Call = tuple[str, str]
Calls = Mapping[Call, int]

_HOOK = """\
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("walk_tracer", {path!r})
module = module_from_spec(spec)
spec.loader.exec_module(module)
module.start()
"""


@dataclass
class Recording:
    """The record of one window of time.

    Attributes:
        entries: The entries of all processes.
    """

    begun: float = field(default_factory=time.monotonic)
    entries: list[Entry] = field(default_factory=list)

    def until(self, end: float) -> "Counter[Call]":
        return Counter((caller, name) for at, _, caller, name in self.entries if at <= end)

    def of(self, activity: str) -> "Recording":
        return Recording(self.begun, [entry for entry in self.entries if entry[1] == activity])


class Controller:
    """The controller of all traced processes.

    Attributes:
        environment: The environment of the processes to be traced.
    """

    def __init__(self, listener: socket.socket, environment: Mapping[str, str]) -> None:
        self.environment = environment
        self._listener = listener
        self._streams: list[_Stream] = []
        # The number of each call per second without requests.
        self.idle: Mapping[Call, float] = {}

    @property
    def processes(self) -> list[str]:
        """The command of each process."""
        self._accept()
        return [stream.command for stream in self._streams]

    def begin(self) -> Recording:
        self._accept()
        self._ask("begin")
        return Recording()

    def look(self, recording: Recording) -> None:
        """Add what was recorded since the last call."""
        recording.entries += self._ask("take")

    def end(self, recording: Recording) -> None:
        recording.entries += self._ask("end")
        recording.entries.sort()

    def learn_idle(self, seconds: float) -> None:
        """Measure the calls of loops that tick, which belong to no request."""
        recording = self.begin()
        time.sleep(seconds)
        self.end(recording)
        calls = recording.until(float("inf"))
        self.idle = {call: count / seconds for call, count in calls.items()}

    def settle(self, recording: Recording, quiet_s: float, busy_min: int = 0) -> None:
        """Wait until only idle calls were made for `quiet_s`, after at least `busy_min` others."""
        give_up = time.monotonic() + SETTLED_S_MAX
        while time.monotonic() < give_up:
            self.look(recording)
            busy = self.busy(recording)
            last = busy[-1][0] if busy else recording.begun
            if len(busy) >= busy_min and time.monotonic() - last >= quiet_s:
                self.end(recording)
                return
            time.sleep(LOOK_S)
        raise AssertionError(f"the server was not quiet for {quiet_s} s within {SETTLED_S_MAX} s")

    def busy(self, recording: Recording) -> list[Entry]:
        """Return the entries that do not occur without requests."""
        return sorted(entry for entry in recording.entries if entry[2:] not in self.idle)

    def request(self, recording: Recording) -> dict[Call, float]:
        """Return the number of each call, without those that loops made in that time."""
        end = self.busy(recording)[-1][0]
        calls: dict[Call, float] = dict(recording.until(end))
        for call, rate in self.idle.items():
            calls[call] = calls.get(call, 0) - rate * (end - recording.begun)
        return calls

    def activity(self, recording: Recording) -> Calls:
        """Return the calls of the busiest activity, up to the last that is not an idle call."""
        busiest = Counter(entry[1] for entry in self.busy(recording)).most_common(1)[0][0]
        activity = recording.of(busiest)
        return activity.until(self.busy(activity)[-1][0])

    def close(self) -> None:
        for stream in self._streams:
            stream.close()

    def _accept(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self._streams.append(_Stream(self._listener.accept()[0]))

    def _ask(self, command: str) -> list[Entry]:
        """Send a command to every process that still runs, and return their entries."""
        entries: list[Entry] = []
        for stream in tuple(self._streams):
            try:
                entries += stream.ask(command)
            except (OSError, ValueError):
                stream.close()
                self._streams.remove(stream)
        return entries


class _Stream:
    """The connection to one process."""

    def __init__(self, line: socket.socket) -> None:
        line.settimeout(ANSWER_S)
        self._line = line
        self._stream = line.makefile("rw")
        _, argv = json.loads(self._stream.readline())
        self.command = " ".join(argv[1:])

    def ask(self, command: str) -> list[Entry]:
        """Send a command and return the entries.

        Raises:
            OSError: The process has ended.
            ValueError: The process has ended.
        """
        self._stream.write(command + "\n")
        self._stream.flush()
        return [
            (at, activity, caller, name)
            for at, activity, caller, name in json.loads(self._stream.readline())
        ]

    def close(self) -> None:
        with suppress(OSError):  # a command that could not be sent
            self._stream.close()
        self._line.close()


@contextmanager
def controller(root: Path) -> Iterator[Controller]:
    """Yield a controller.

    Args:
        root: The folder whose files count.
    """
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        hook = _HOOK.format(path=str(Path(walk_tracer.__file__).resolve()))
        Path(folder, "sitecustomize.py").write_text(hook)
        listener.bind(f"{folder}/control")
        listener.listen(16)
        listener.setblocking(False)
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        environment = {
            "PYTHONPATH": path,
            walk_tracer.SOCKET: f"{folder}/control",
            walk_tracer.ROOT: str(root),
        }
        control = Controller(listener, environment)
        try:
            yield control
        finally:
            control.close()


def typical(samples: Sequence[Mapping[Call, float]]) -> dict[Call, int]:
    """Return the median of each call's counts, in the order of the first sample.

    Calls that happened by chance in few samples are left out.
    """
    calls = dict.fromkeys(call for sample in samples for call in sample)
    counts = {call: round(median(sample.get(call, 0) for sample in samples)) for call in calls}
    return {call: count for call, count in counts.items() if count > 0}


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one path.

    Attributes:
        crossings: Calls from a function of one file to a function of another.
    """

    files: int
    functions: int
    calls: int
    crossings: int


def figures(calls: Calls) -> Figures:
    return Figures(
        len({file_of(name) for _, name in calls}),
        len({name for _, name in calls}),
        sum(calls.values()),
        sum(count for call, count in calls.items() if crosses(call)),
    )


def crosses(call: Call) -> bool:
    caller, name = call
    return bool(caller) and file_of(caller) != file_of(name)


def file_of(name: str) -> str:
    return name.partition(":")[0]


def by_file(calls: Calls) -> Iterable[tuple[str, int, int]]:
    """Return each file in the order of entry, with its calls and the crossings into it."""
    files: dict[str, list[int]] = {}
    for call, count in calls.items():
        row = files.setdefault(file_of(call[1]), [0, 0])
        row[0] += count
        row[1] += count if crosses(call) else 0
    return [(file, calls, crossings) for file, (calls, crossings) in files.items()]
