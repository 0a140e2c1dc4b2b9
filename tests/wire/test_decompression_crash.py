"""A small body that is large when decompressed does not exhaust the memory of the server."""

import gzip
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support import plain_http
from tests.support.awaited import until
from tests.support.preloaded import PreloadedServer
from tests.support.server import RealServer

pytestmark = pytest.mark.long("fills the memory of real servers")

EVENTS = 60_000
SENT_BYTES_MAX = 70_000  # the batch
# With chDB the process has 460 MB afterwards. Headers copied to each event would come to 3.6 GB of
# JSON alone.
MEMORY_BYTES_MAX = 800 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="reads the highest memory from /proc")
@pytest.mark.parametrize("trusted", ["", "127.0.0.1"])
def test_a_huge_header_of_a_batch_costs_its_events_nothing(tmp_path: Path, trusted: str) -> None:
    server = PreloadedServer(tmp_path / "data", {"FANION_TRUSTED_PROXIES": trusted})
    keys = server.setup()
    batch = [{"event": "a", "distinct_id": "u"}] * EVENTS
    body = gzip.compress(msgspec.json.encode({"api_key": keys.project_api_key, "batch": batch}))
    assert len(body) < SENT_BYTES_MAX
    half = 30_000  # all headers together may have 64 KiB
    headers = {
        "content-encoding": "gzip",
        "x-forwarded-for": "1" * half,
        "user-agent": "x" * half,
    }
    server.start()
    try:
        answer = plain_http.post(f"{server.url}/batch/", content=body, headers=headers)
        assert answer.status_code == 200
        until(lambda: ingested(server) == EVENTS, "the batch is not ingested")
        assert highest_memory(server) < MEMORY_BYTES_MAX
        server.kill()
        server.start()
        assert ingested(server) == 0  # all of it was ingested before
        assert highest_memory(server) < MEMORY_BYTES_MAX
    finally:
        server.close()


def ingested(server: RealServer) -> float:
    text = plain_http.get(f"{server.url}/metrics").text
    [line] = [
        sample for sample in text.splitlines() if sample.startswith("fanion_events_ingested_total ")
    ]
    return float(line.rpartition(" ")[2])


def highest_memory(server: RealServer) -> int:
    status = Path(f"/proc/{server.pid}/status").read_text()
    [line] = [field for field in status.splitlines() if field.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024
