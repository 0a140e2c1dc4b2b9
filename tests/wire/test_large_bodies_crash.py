"""Small bodies that decompress to 20 MB: the memory of a real server stays within its limit."""

import gzip
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from fanion.wire.offload import DECODING_BYTES_MAX
from tests.ingest.test_bad_input_crash import peak_bytes
from tests.support import plain_http
from tests.support.preloaded import PreloadedServer

pytestmark = pytest.mark.long("fills the memory of real servers")

AT_ONCE, ROUNDS = 6, 2
OBJECTS = b"{}," * 6_600_000 + b"{}"
BODIES = {
    "/batch/": b'{"api_key":"phc_wrong","batch":[' + OBJECTS + b"]}",
    "/engage/": b'{"batch":[' + OBJECTS + b'],"api_key":"phc_wrong"}',
    "/decide?v=3": b'{"api_key":"phc_wrong","person_properties":{"a":[' + OBJECTS + b"]}}",
}
# For threads' stacks, received bodies and what the allocator keeps.
SLACK_BYTES = 64 * 1024 * 1024


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PreloadedServer]:
    server = PreloadedServer(tmp_path / "data", {"FANION_PROCESSES": "1"})
    try:
        server.setup()
        server.start()
        yield server
    finally:
        server.close()


def test_many_at_once_without_a_key_stay_within_the_budget(server: PreloadedServer) -> None:
    before = peak_bytes(server.pid)
    zipped = {path: gzip.compress(body, 6) for path, body in BODIES.items()}
    assert all(len(content) < 25_000 for content in zipped.values())

    def attack(path: str) -> int:
        headers = {"content-encoding": "gzip"}
        content = zipped[path]
        return httpx.post(
            server.url + path, content=content, headers=headers, timeout=60
        ).status_code

    with ThreadPoolExecutor(AT_ONCE) as threads:
        statuses = list(threads.map(attack, [*BODIES] * (AT_ONCE * ROUNDS // len(BODIES))))

    assert set(statuses) <= {401, 503}
    assert 401 in statuses
    assert plain_http.get(f"{server.url}/_health").status_code == 200
    assert peak_bytes(server.pid) - before < DECODING_BYTES_MAX + SLACK_BYTES
