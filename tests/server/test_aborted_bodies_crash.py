"""A client that disconnects in the middle of a body leaves nothing in memory, in any process."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.http_probe import Probe
from tests.support.preloaded import PreloadedServer

pytestmark = pytest.mark.long("fills the memory of real servers")

BODY_BYTES = 19_000_000
PIECE = b"x" * 65_536
CLIENTS = 50
# The limit for 950 MB that are sent. A server that kept four of the bodies would take more.
GROWTH_BYTES_MAX = 64 * 1024**2
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PreloadedServer]:
    process = PreloadedServer(
        tmp_path_factory.mktemp("aborted") / "data", {"FANION_PROCESSES": "2"}
    )
    process.setup()
    process.start()
    try:
        yield process
    finally:
        process.close()


def resident(server: PreloadedServer) -> dict[int, int]:
    """Return the bytes in memory of the server and of its processes, by their ids."""
    pids = {server.pid}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) in pids:
                pids.add(int(folder.name))
    held = {}
    for pid in pids:
        with suppress(OSError):  # it has ended
            held[pid] = int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    return held


def abort_body(port: int, path: str, media: str, *, chunked: bool) -> None:
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {BODY_BYTES + 1}"
    head = f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {media}\r\n{framing}\r\n\r\n"
    piece = b"%x\r\n%b\r\n" % (len(PIECE), PIECE) if chunked else PIECE
    with Probe(port) as probe, suppress(ConnectionError):  # it may be refused at once
        probe.send(head.encode())
        for _ in range(BODY_BYTES // len(PIECE)):
            probe.send(piece)


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize(
    ("path", "media"),
    [
        ("/capture/", "application/json"),
        ("/api/projects/@current/feature_flags/", "application/json"),
        ("/api/projects/@current/cohorts/", "multipart/form-data; boundary=b"),
    ],
)
def test_memory_is_flat(server: PreloadedServer, path: str, media: str, chunked: bool) -> None:
    for _ in range(10):  # memory that a process takes only once
        abort_body(server.port, path, media, chunked=chunked)
    before = resident(server)

    for _ in range(CLIENTS):
        abort_body(server.port, path, media, chunked=chunked)

    after = resident(server)
    grown = {pid: after[pid] - before[pid] for pid in before if pid in after}
    assert len(before) >= 3
    assert max(grown.values()) < GROWTH_BYTES_MAX, grown


def test_bodies_that_are_held_open_are_bounded(server: PreloadedServer) -> None:
    """The bound is what one process buffers, plus what the sockets of its clients hold."""
    before = resident(server)
    head = f"POST /capture/ HTTP/1.1\r\nHost: a\r\nContent-Length: {BODY_BYTES + 1}\r\n\r\n"
    probes = [Probe(server.port) for _ in range(40)]
    refused = 0
    try:
        for probe in probes:
            with suppress(ConnectionError, TimeoutError):
                probe.send(head.encode() + b"x" * BODY_BYTES)
        for probe in probes[-5:]:
            answer = probe.answer()
            refused += answer is not None and answer.status == 503
        after = resident(server)
    finally:
        for probe in probes:
            probe.__exit__()

    assert refused == 5
    assert max(after[pid] - before[pid] for pid in before if pid in after) < 400 * 1024**2
