"""Requests from wrk, limited in time and connections, to a server on this machine."""

import json
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.processor_time import used_s

CONNECTIONS = 32
WARM_S = 2
RUN_S = 5
ANSWER_S_MAX = 10
NUMBER = "{number}"  # a placeholder in a body: replaced with 1, 2, 3 … per request

_UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


@dataclass(frozen=True)
class Load:
    """The result of a load.

    Attributes:
        failed: Answers other than 2xx, and broken connections.
        processor_us: Processor time of the server's processes per request. It excludes the load
            and other processes, but grows as the rate falls when the machine is slow.
    """

    requests: int
    requests_per_s: float
    p99_ms: float
    failed: int
    processor_us: float = 0.0

    @property
    def shown(self) -> str:
        return f"p99 {self.p99_ms:.1f} ms, {self.processor_us:,.0f} µs of processor time"


def available() -> bool:
    return shutil.which("wrk") is not None


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str] | None = None,
    connections: int = CONNECTIONS,
    run_s: int = RUN_S,
    warm_s: int = WARM_S,
    processes: Collection[int] = (),
) -> Load:
    """POST the same body repeatedly; only the request's number in it changes.

    Args:
        warm_s: Seconds before the measurement; may be 0.
        processes: The server's processes, for their processor time.
    """
    with TemporaryDirectory() as folder:
        (Path(folder) / "body").write_bytes(body)
        script = Path(folder) / "post.lua"
        script.write_text(_script(Path(folder) / "body", headers or {}))
        if warm_s:
            _wrk(url, script, connections, warm_s)
        before = used_s(processes)
        load = _parse(_wrk(url, script, connections, run_s))
        return replace(load, processor_us=(used_s(processes) - before) / load.requests * 1e6)


def _script(body: Path, headers: Mapping[str, str]) -> str:
    lines = [
        'wrk.method = "POST"',
        f'local file = io.open({json.dumps(str(body))}, "rb")',
        'wrk.body = file:read("*a")',
        "file:close()",
        'wrk.headers["Content-Type"] = "application/json"',
    ]
    lines += [f"wrk.headers[{json.dumps(k)}] = {json.dumps(v)}" for k, v in headers.items()]
    if NUMBER.encode() in body.read_bytes():
        numbered = f'string.gsub(wrk.body, "{NUMBER}", number)'
        lines += [
            "local number = 0",
            "request = function()",
            "  number = number + 1",
            f"  return wrk.format(nil, nil, nil, ({numbered}))",
            "end",
        ]
    return "\n".join(lines)


def _wrk(url: str, script: Path, connections: int, run_s: int) -> str:
    done = subprocess.run(
        [
            *("wrk", "-t1", f"-c{connections}", f"-d{run_s}s", f"--timeout={ANSWER_S_MAX}"),
            *("--latency", "-s", str(script), url),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=run_s + 30,
    )
    return done.stdout


def _parse(output: str) -> Load:
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s|m)", output)
    requests = re.search(r"(\d+) requests in ", output)
    assert rate and p99 and requests, output
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    broken = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    failed = int(refused[1]) if refused else 0
    failed += sum(map(int, broken.groups())) if broken else 0
    return Load(int(requests[1]), float(rate[1]), float(p99[1]) * _UNITS_MS[p99[2]], failed)
