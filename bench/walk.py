"""The number of files of the product that one request passes through: `python -m bench walk`.

    python -m bench walk                       the table of all paths
    python -m bench walk NAME ...              of some of them
    python -m bench walk files NAME ...        the files that they enter, in order, and crossings

A real server is started, with one process that serves and one that writes the accept log, and each
is traced from inside (bench/walk_tracer.py). The columns are files (with at least one function
entered), functions entered, calls (entries of functions), and crossings (calls from a function of
one file to a function of another, regardless of library frames, tasks, callbacks and executor
threads in between). Waking a task that waits for an event is not a call.

Each path is warmed up, then taken SAMPLES times, and the median of each pair of caller and
function counts. A request lasts until only idle calls have been made for a while. Idle calls,
those of loops that tick, are measured without requests, and subtracted at their rate. The
calculation of a cohort is one turn of a loop that ticks too, so only the calls of that loop count.

To measure only the answer to a capture, ingestion is blocked: another program locks the records
store while earlier events are ingested.

Not counted: time between a client and the process, C code, SQL, and the work of further web
workers or of the process that prepares runs. The server has one web process here, and prepares
runs itself.
"""

import json
import socket
import sqlite3
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.servers import fanion
from bench.walk_control import (
    Calls,
    Controller,
    by_file,
    controller,
    crosses,
    figures,
    typical,
)
from tests.support.server import Keys, RealServer

SAMPLES = 9
# Longer than the turn of most loops; a few take 5 s. Rarer ones do not affect the median.
IDLE_S = 5.5
QUIET_S = 0.15
INGESTED_QUIET_S = 0.35
CALCULATED_BUSY_MIN = 30
# Pauses between samples, so that not every sample meets the same loop: multiples of GOLDEN are
# spread evenly.
PAUSE_S, GOLDEN = 0.5, 0.618
REQUEST_S = 10.0


class Client:
    """One connection that sends each request in one segment and with the same head."""

    def __init__(self, port: int, key: str) -> None:
        self._key = key
        self._socket = socket.create_connection(("127.0.0.1", port), REQUEST_S)
        self._stream = self._socket.makefile("rb")

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Make a request and return the decoded answer.

        Raises:
            AssertionError: The request does not succeed.
        """
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {self._key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + content)
        status = int(self._stream.readline().split()[1])
        length = 0
        while line := self._stream.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        answer = self._stream.read(length)
        assert 200 <= status < 300, (method, path, status, answer)
        return json.loads(answer) if answer else None


@dataclass
class Walk:
    """The walks through one server; successive requests differ where equal ones would do less."""

    server: RealServer
    keys: Keys
    control: Controller
    client: Client
    _number: int = 0
    _flags: dict[str, str] = field(default_factory=dict)

    def capture(self) -> Calls:
        """Record only the answer."""
        self._event()
        self._learn_idle()
        with self._ingestion_held_up():
            calls = self._requests(self._event, QUIET_S)
        self._settled(INGESTED_QUIET_S)
        return calls

    def capture_stored(self) -> Calls:
        """Record until the event is stored, and its place in the log is no longer needed."""
        self._event()
        self._learn_idle()
        return self._requests(self._event, INGESTED_QUIET_S)

    def get_flag(self) -> Calls:
        path = self._flag_path("read")
        self._learn_idle()
        return self._requests(lambda: self.client.ask("GET", path), QUIET_S)

    def patch_flag(self) -> Calls:
        """Record a change, before flags are evaluated, so that no loop compiles them again."""
        path = self._flag_path("changed")

        def change() -> None:
            self.client.ask("PATCH", path, {"filters": _filters(self._next() % 90 + 1)})

        self._learn_idle()
        calls = self._requests(change, QUIET_S)
        self.client.ask("PATCH", path, {"deleted": True})
        return calls

    def flags(self) -> Calls:
        self._flag_path("read")
        body = {"api_key": self.keys.project_api_key, "distinct_id": "walker"}

        def evaluate() -> None:
            values = self.client.ask("POST", "/flags?v=2", body)["flags"]
            assert values.keys() == {"read"}, values

        evaluate()
        self._learn_idle()
        return self._requests(evaluate, QUIET_S)

    def cohort(self) -> Calls:
        """Record the recalculation of an old cohort, after one person has joined and one has left.

        Waiting for it takes as long as loops that tick every 10 s.
        """
        self._learn_idle(2 * IDLE_S)
        for person in ("ann", "ben", "cid", "dee", "eve"):
            self._identify(person, "pro")
        self._settled(INGESTED_QUIET_S)
        condition = {"type": "person", "key": "plan", "operator": "exact", "value": "pro"}
        criteria = {"properties": {"type": "AND", "values": [condition]}}
        path = f"/api/projects/{self.keys.project_id}/cohorts/"
        created = self.client.ask("POST", path, {"name": "Payers", "filters": criteria})
        self._settled(INGESTED_QUIET_S)
        samples = [self._calculation() for _ in range(SAMPLES + 1)]
        count = self.client.ask("GET", f"{path}{created['id']}/")["count"]
        assert count == 4, count
        return typical(samples[1:])

    def _calculation(self) -> Calls:
        plans = ("pro", "free") if self._next() % 2 else ("free", "pro")
        self._identify("ann", plans[0])
        self._identify("ben", plans[1])
        self._settled(INGESTED_QUIET_S)
        recording = self.control.begin()
        self.control.settle(recording, INGESTED_QUIET_S, CALCULATED_BUSY_MIN)
        return self.control.activity(recording)

    def _requests(self, request: Callable[[], object], quiet_s: float) -> Calls:
        request()
        self._settled(quiet_s)
        samples = []
        for number in range(SAMPLES):
            time.sleep(number * GOLDEN % 1 * PAUSE_S)
            recording = self.control.begin()
            request()
            self.control.settle(recording, quiet_s, 1)
            samples.append(self.control.request(recording))
        return typical(samples)

    def _learn_idle(self, seconds: float | None = None) -> None:
        """Measure idle calls again for each path, because loops keep up to date what was used."""
        self._settled(INGESTED_QUIET_S)
        self.control.learn_idle(seconds or IDLE_S)

    def _settled(self, quiet_s: float) -> None:
        self.control.settle(self.control.begin(), quiet_s)

    @contextmanager
    def _ingestion_held_up(self) -> Iterator[None]:
        """Block ingestion: its thread waits for the lock, and makes no calls meanwhile."""
        other = sqlite3.connect(self.server.data / "records.db", isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            self._event()
            self._event()
            self._settled(INGESTED_QUIET_S)
            yield
        finally:
            other.rollback()
            other.close()

    def _event(self) -> None:
        """Capture an event of 200 to 300 bytes."""
        self._capture("page viewed", f"walker-{self._next():05}", {
            "$lib": "posthog-python", "$lib_version": "7.0.0", "path": "/products", "plan": "pro",
        })  # fmt: skip

    def _identify(self, person: str, plan: str) -> None:
        self._capture("$identify", person, {"$set": {"plan": plan}})

    def _capture(self, event: str, distinct_id: str, properties: dict[str, object]) -> None:
        self.client.ask("POST", "/capture/", {
            "api_key": self.keys.project_api_key, "event": event, "distinct_id": distinct_id,
            "properties": properties,
        })  # fmt: skip

    def _flag_path(self, key: str) -> str:
        """Return the path of a flag, which is created on first use."""
        path = f"/api/projects/{self.keys.project_id}/feature_flags/"
        if key not in self._flags:
            created = self.client.ask("POST", path, {"key": key, "filters": _filters(100)})
            self._flags[key] = f"{path}{created['id']}/"
        return self._flags[key]

    def _next(self) -> int:
        self._number += 1
        return self._number


PATHS: dict[str, tuple[str, Callable[[Walk], Calls]]] = {
    "capture": ("capture -> 200, ordinary", Walk.capture),
    "capture-stored": ("capture -> stored block", Walk.capture_stored),
    "flags": ("/flags, nothing read", Walk.flags),
    "get-flag": ("GET flag", Walk.get_flag),
    "patch-flag": ("PATCH flag", Walk.patch_flag),
    "cohort": ("one cohort calculated", Walk.cohort),
}

# The order of the paths: flags are evaluated after they are changed.
ORDER = ("capture", "capture-stored", "get-flag", "patch-flag", "flags", "cohort")


def main(arguments: list[str]) -> None:
    with_files = arguments[:1] == ["files"]
    names = arguments[1:] if with_files else arguments
    if unknown := set(names) - PATHS.keys():
        sys.exit(f"No such path: {', '.join(unknown)}. There are {', '.join(PATHS)}.")
    walked = walk(names or PATHS)
    if with_files:
        for name, calls in walked.items():
            show_files(PATHS[name][0], calls)
    show(walked)


def walk(names: Collection[str]) -> dict[str, Calls]:
    with (
        controller(_product()) as control,
        fanion(FANION_PROCESSES="1", FANION_COHORTS_EVERY_S="3", **control.environment) as started,
    ):
        server, keys = started
        client = Client(server.port, keys.personal_api_key)
        try:
            walker = Walk(server, keys, control, client)
            control.learn_idle(IDLE_S)
            print("traced:", "; ".join(control.processes), file=sys.stderr)
            walked = {name: PATHS[name][1](walker) for name in ORDER if name in names}
            return {name: walked[name] for name in PATHS if name in names}
        finally:
            client.close()


def show(walked: dict[str, Calls]) -> None:
    print(f"{'path':28} {'files':>6} {'functions':>10} {'calls':>7} {'crossings':>10}")
    for name, calls in walked.items():
        totals = figures(calls)
        print(
            f"{PATHS[name][0]:28} {totals.files:>6} {totals.functions:>10} {totals.calls:>7} "
            f"{totals.crossings:>10}"
        )


def show_files(title: str, calls: Calls) -> None:
    print(f"{title}\n\n{'calls':>7} {'crossings into':>15}  file, in the order of entry")
    for file, count, crossings in by_file(calls):
        print(f"{count:>7} {crossings:>15}  {file}")
    print("\n  calls  crossing")
    for (caller, name), count in calls.items():
        if crosses((caller, name)):
            print(f"{count:>7}  {caller} -> {name}")
    print()


def _filters(percentage: int) -> dict[str, object]:
    return {"groups": [{"properties": [], "rollout_percentage": percentage}]}


def _product() -> Path:
    """Return the folder of the package, which is not imported here."""
    spec = find_spec("fanion")
    assert spec is not None and spec.origin is not None
    return Path(spec.origin).parent
