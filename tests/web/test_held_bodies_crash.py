"""The memory and disk that strangers, and a single client, can make a real server hold."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from fanion.server.flow_control import BUFFERED_BYTES_MAX
from tests.server.test_aborted_bodies_crash import resident
from tests.support.awaited import until
from tests.support.http_probe import Answer, Probe
from tests.support.preloaded import PreloadedServer
from tests.support.server import Keys

pytestmark = pytest.mark.long("starts real servers")

# Loopback has more than one address; each stands for a client.
ATTACKER, OTHER = "127.0.0.7", "127.0.0.8"
PIECE = b"x" * 65_536
CHUNK = b"%x\r\n%b\r\n" % (len(PIECE), PIECE)
MEBIBYTE = 1024 * 1024
UPLOAD_BYTES_MAX = 4 * MEBIBYTE
FILES_MAX = 4 * UPLOAD_BYTES_MAX
FIELD = b'--b\r\nContent-Disposition: form-data; name="csv"; filename="a"\r\n\r\n'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[PreloadedServer, Keys]]:
    settings = {"FANION_PROCESSES": "2", "FANION_UPLOAD_BYTES_MAX": str(UPLOAD_BYTES_MAX)}
    process = PreloadedServer(tmp_path_factory.mktemp("held") / "data", settings)
    keys = process.setup()
    process.start()
    try:
        yield process, keys
    finally:
        process.close()


def unnamed_files(server: PreloadedServer) -> int:
    """Return the bytes of the unnamed temporary files that a server and its processes have open.

    The counters that the processes share are one such file of a few bytes.
    """
    total = 0
    for pid in resident(server):
        for descriptor in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                target = str(descriptor.readlink())
                size = descriptor.stat().st_size
                if "(deleted)" in target and "#" in target and size > len(PIECE):
                    total += size
    return total


def form_head(keys: Keys, *headers: str) -> bytes:
    lines = [
        f"POST /api/projects/{keys.project_id}/cohorts/ HTTP/1.1",
        "Host: a",
        "Content-Type: multipart/form-data; boundary=b",
        "Transfer-Encoding: chunked",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + b"%x\r\n%b\r\n" % (len(FIELD), FIELD)


def captured(port: int, keys: Keys, size: int) -> Answer | None:
    event = {"event": "e", "distinct_id": "u", "properties": {"x": "x" * 900_000}}
    body = {"api_key": keys.project_api_key, "batch": [event] * max(1, size // 900_000)}
    content = json.dumps(body).encode()
    with Probe(port, source=OTHER) as probe:
        head = f"POST /batch/ HTTP/1.1\r\nHost: a\r\nContent-Length: {len(content)}\r\n\r\n"
        probe.send(head.encode() + content)
        return probe.answer()


def listed(port: int, keys: Keys) -> Answer | None:
    with Probe(port, source=OTHER) as probe:
        head = "GET /api/projects/@current/feature_flags/ HTTP/1.1\r\nHost: a\r\n"
        probe.send(f"{head}Authorization: Bearer {keys.personal_api_key}\r\n\r\n".encode())
        return probe.answer()


def begin_forms(port: int, keys: Keys, stack: ExitStack, count: int) -> list[Answer | None]:
    """Send forms of 3 MB without an end, on connections that stay open."""
    answers = []
    for _ in range(count):
        probe = stack.enter_context(Probe(port, source=ATTACKER))
        with suppress(ConnectionError, TimeoutError):
            probe.send(form_head(keys) + CHUNK * 48)
        answers.append(probe.answer())
    return answers


def test_forms_without_a_key_hold_nothing(server: tuple[PreloadedServer, Keys]) -> None:
    running, keys = server
    with ExitStack() as stack:
        begin_forms(running.port, keys, stack, 10)  # memory that a process takes only once
    before = resident(running)
    with ExitStack() as stack:
        answers = begin_forms(running.port, keys, stack, 80)
        after = resident(running)
        files = unnamed_files(running)

    assert {answer.status for answer in answers if answer is not None} == {401}
    assert len(answers) == 80
    assert files == 0
    assert max(after[pid] - before[pid] for pid in before) < 64 * MEBIBYTE  # of 240 MB sent


def test_files_with_a_key_are_held_up_to_a_share(server: tuple[PreloadedServer, Keys]) -> None:
    running, keys = server
    bearer = f"Authorization: Bearer {keys.personal_api_key}"
    size = UPLOAD_BYTES_MAX - MEBIBYTE
    with ExitStack() as stack:
        probes = [stack.enter_context(Probe(running.port, source=ATTACKER)) for _ in range(12)]
        for probe in probes:
            with suppress(ConnectionError, TimeoutError):
                probe.send(form_head(keys, bearer) + CHUNK * (size // len(PIECE)))
        # The first ones fit: two of them are within the share of an address.
        until(lambda: len([1 for probe in probes if probe.is_answered()]) >= 10, "none is refused")
        answers = [probe.answer() for probe in probes if probe.is_answered()]
        held = unnamed_files(running)
        with Probe(running.port, source=OTHER) as other:
            small = b"a,b\r\n" * 1_000
            end = (
                b'\r\n--b\r\nContent-Disposition: form-data; name="is_static"\r\n\r\ntrue'
                b"\r\n--b--\r\n"
            )
            other.send(form_head(keys, bearer))
            other.send(b"%x\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(small), small, len(end), end))
            answered = other.answer()
    until(lambda: unnamed_files(running) == 0, "files are kept")

    refused = [answer for answer in answers if answer is not None]
    assert {(answer.status, json.loads(answer.body)["code"]) for answer in refused} == {
        (503, "files_full")
    }
    assert size <= held <= FILES_MAX // 2
    assert answered is not None and answered.status in (201, 400), answered


def test_slow_bodies_of_one_address_leave_room_for_others(
    server: tuple[PreloadedServer, Keys],
) -> None:
    """This takes seconds, because a process's budget is sent twice."""
    running, keys = server
    size = 19 * MEBIBYTE
    before = resident(running)
    refused = 0
    with ExitStack() as stack:
        probes = [stack.enter_context(Probe(running.port, source=ATTACKER)) for _ in range(25)]
        head = f"POST /capture/ HTTP/1.1\r\nHost: a\r\nContent-Length: {size + 1}\r\n\r\n"
        for probe in probes:
            with suppress(ConnectionError, TimeoutError):
                probe.send(head.encode() + b"x" * size)
        after = resident(running)
        event, flags = captured(running.port, keys, 12_000_000), listed(running.port, keys)
        for probe in probes[-3:]:
            answer = probe.answer()
            refused += answer is not None and answer.status == 503

    assert event is not None and (event.status, event.body) == (200, b'{"status":1}')
    assert flags is not None and flags.status == 200
    assert refused == 3
    # Several processes answer captures, each with its own buffers.
    grown = max(after[pid] - before[pid] for pid in before)
    assert grown < BUFFERED_BYTES_MAX // 2 + 64 * MEBIBYTE
