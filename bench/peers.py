"""Fanion beside other servers of flags: the same flags and users, all in turn in one run.

A peer takes part if its program is on the PATH: `unleash-edge` (Unleash Edge), `flagd`, and
`relayproxy` (GO Feature Flag). flagd listens on all addresses, so it needs a network namespace:

    unshare --map-root-user --net sh -c 'ip link set lo up && python -m bench peers'

BENCH_PEERS_ROUNDS: the rounds, of which medians are shown.

Each server answers with the values of all flags for one user, whose properties are sent with the
request. Every peer has its flags in a file and nothing else to do. Processor time is that of all
processes of a server, without the load generator, and `×` its ratio to OFREP from Fanion; memory
is measured after the load.
"""

import os
import shutil
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import msgspec

from bench import decide, load, peers_flags, servers
from bench.peers_flags import DISTINCT_ID, PROPERTIES
from tests.support import plain_http
from tests.support.awaited import until
from tests.support.server import RealServer, free_port

FLAGS = (1, 50, 500)
ROUNDS = int(os.environ.get("BENCH_PEERS_ROUNDS", "3"))
RUN_S, WARM_S, START_S_MAX = 4, 1, 60.0
FANION, OFREP = "Fanion", "OFREP"


@dataclass(frozen=True)
class Ask:
    """A request for the values of all flags.

    Attributes:
        flags_of: Returns how many flags an answer has.
    """

    name: str
    url: str
    body: Mapping[str, object]
    flags_of: Callable[[dict[str, object]], int]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def encoded(self) -> bytes:
        return msgspec.json.encode(self.body)


@dataclass(frozen=True)
class Started:
    """A server that answers.

    Attributes:
        start_s: Seconds until the first answer with all flags.
    """

    pid: int
    asks: Sequence[Ask]
    start_s: float


@dataclass(frozen=True)
class Peer:
    """A program that serves flags from a file.

    Attributes:
        command: Returns the arguments for a folder with its files and a port.
        write: Writes so many flags into a folder, for a port.
        asks: Returns the requests for a URL.
        is_open: Whether it listens on all addresses of the machine, whatever its settings.
    """

    name: str
    program: str
    command: Callable[[Path, int], Sequence[str]]
    write: Callable[[Path, int, int], None]
    asks: Callable[[str], Sequence[Ask]]
    is_open: bool = False

    @property
    def problem(self) -> str | None:
        """Return why it cannot take part."""
        if shutil.which(self.program) is None:
            return f"{self.program} is not on the PATH"
        if self.is_open and {name for _, name in socket.if_nameindex()} != {"lo"}:
            return "it would listen on all addresses of this machine"
        return None


def main() -> None:
    for peer in PEERS:
        if peer.problem is not None:
            print(f"{peer.name} does not take part: {peer.problem}.")
    print(f"{'server':28} {'flags':>5} {'µs':>8} {'×':>6} {'rate/s':>9} {'p99 ms':>8}")
    for flags in FLAGS:
        for line in _measured(flags):
            print(line, flush=True)


def _measured(flags: int) -> Iterator[str]:
    """Measure all servers with so many flags, in turn.

    Yields:
        A line for each kind of request, then one for each server's start and memory.
    """
    with ExitStack() as stack:
        running = {FANION: stack.enter_context(_fanion(flags))}
        for peer in PEERS:
            if peer.problem is None:
                running[peer.name] = stack.enter_context(_running(peer, flags))
        loads: dict[tuple[str, str], list[load.Load]] = {}
        for _ in range(ROUNDS):
            for name, server in running.items():
                for ask in server.asks:
                    loads.setdefault((name, ask.name), []).append(_asked(server, ask))
        memory = {name: servers.resident_mb(run.pid, "VmRSS") for name, run in running.items()}
    ours = _processor_us(loads[FANION, OFREP])
    for (name, ask_name), each in loads.items():
        took = _processor_us(each)
        rate = statistics.median(one.requests_per_s for one in each)
        p99 = statistics.median(one.p99_ms for one in each)
        case = f"{name}, {ask_name}"
        yield f"{case:28} {flags:5} {took:8,.0f} {took / ours:6.2f} {rate:9,.0f} {p99:8.1f}"
    for name, server in running.items():
        start = f"answered after {server.start_s:.2f} s, {memory[name]:,.0f} MB"
        yield f"{name:28} {flags:5} {start}"


def _asked(server: Started, ask: Ask) -> load.Load:
    result = load.post(
        ask.url, ask.encoded, ask.headers, run_s=RUN_S, warm_s=WARM_S, processes=[server.pid]
    )
    assert result.failed == 0, (ask.name, result)
    return result


def _processor_us(loads: Sequence[load.Load]) -> float:
    return statistics.median(each.processor_us for each in loads)


@contextmanager
def _fanion(flags: int) -> Iterator[Started]:
    with TemporaryDirectory() as folder:
        server = servers.whole(Path(folder) / "data")
        keys = server.setup()
        server.start()
        try:
            decide.store(server, keys, flags)
            server.stop()
            asks = _asks_of_fanion(server.url, keys.project_api_key)
            yield _started(partial(_launched, server), asks, flags)
        finally:
            server.close()


def _launched(server: RealServer) -> int:
    server.launch()
    return server.pid


@contextmanager
def _running(peer: Peer, flags: int) -> Iterator[Started]:
    with TemporaryDirectory() as name:
        folder, port = Path(name), free_port()
        peer.write(folder, port, flags)
        command = (peer.program, *peer.command(folder, port))
        with (folder / "log").open("ab") as log:
            process: subprocess.Popen[bytes] | None = None

            def launch() -> int:
                nonlocal process
                process = subprocess.Popen(command, stdout=log, stderr=log)
                return process.pid

            try:
                yield _started(launch, peer.asks(f"http://127.0.0.1:{port}"), flags)
            finally:
                if process is not None:
                    process.terminate()
                    process.wait(timeout=30)


def _started(launch: Callable[[], int], asks: Sequence[Ask], flags: int) -> Started:
    """Start a server, and wait until each request is answered with so many flags."""
    began = time.perf_counter()
    pid = launch()
    with plain_http.Client(timeout=5) as client:
        until(partial(_is_answered, client, asks[0], flags), "no flags are answered", START_S_MAX)
        start_s = time.perf_counter() - began
        for ask in asks:
            until(partial(_is_answered, client, ask, flags), f"{ask.name}: no flags", START_S_MAX)
    return Started(pid, asks, start_s)


def _is_answered(client: httpx.Client, ask: Ask, flags: int) -> bool:
    with suppress(httpx.TransportError):
        answer = client.post(ask.url, content=ask.encoded, headers=_json(ask.headers))
        return answer.is_success and ask.flags_of(answer.json()) == flags
    return False


def _json(headers: Mapping[str, str]) -> dict[str, str]:
    return {"Content-Type": "application/json", **headers}


def _asks_of_fanion(url: str, token: str) -> Sequence[Ask]:
    body = {"api_key": token, "distinct_id": DISTINCT_ID, "person_properties": PROPERTIES}
    return (
        Ask("/decide?v=3", f"{url}/decide?v=3", body, _number_of("featureFlags")),
        Ask("/flags?v=2", f"{url}/flags?v=2", body, _number_of("flags")),
        _ofrep(url, {"Authorization": f"Bearer {token}"}),
    )


def _ofrep(url: str, headers: Mapping[str, str] | None = None) -> Ask:
    context = {"targetingKey": DISTINCT_ID, **PROPERTIES}
    path = "/ofrep/v1/evaluate/flags"
    return Ask(OFREP, url + path, {"context": context}, _number_of("flags"), headers or {})


def _number_of(name: str) -> Callable[[dict[str, object]], int]:
    def number(answer: dict[str, object]) -> int:
        values = answer[name]
        assert isinstance(values, list | dict), answer
        return len(values)

    return number


def _asks_of_edge(url: str) -> Sequence[Ask]:
    body = {"userId": DISTINCT_ID, "properties": PROPERTIES}
    headers = {"Authorization": peers_flags.EDGE_TOKEN}
    return (Ask("all flags", f"{url}/api/frontend/all", body, _number_of("toggles"), headers),)


PEERS = (
    Peer(
        "Unleash Edge",
        "unleash-edge",
        lambda folder, port: (
            *("--interface", "127.0.0.1", "--port", str(port), "offline"),
            *("--bootstrap-file", str(folder / "features.json")),
            # Offline it does not start without a client token.
            *("--client-tokens", peers_flags.EDGE_TOKEN),
            *("--frontend-tokens", peers_flags.EDGE_TOKEN),
        ),
        peers_flags.write_for_edge,
        _asks_of_edge,
    ),
    Peer(
        "flagd",
        "flagd",
        lambda folder, port: (
            *("start", "--uri", f"file:{folder / 'flags.json'}", "--ofrep-port", str(port)),
            *("--port", str(free_port()), "--sync-port", str(free_port())),
            *("--management-port", str(free_port())),
        ),
        peers_flags.write_for_flagd,
        lambda url: (_ofrep(url),),
        is_open=True,
    ),
    Peer(
        "GO Feature Flag",
        "relayproxy",
        lambda folder, _: ("--config", str(folder / "proxy.json")),
        peers_flags.write_for_relay_proxy,
        lambda url: (_ofrep(url),),
    ),
)
